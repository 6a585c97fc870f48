package pipeline_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// A write: published and taken through two stages that do nothing.
func BenchmarkApply(b *testing.B) {
	nothing := func(context.Context, []string, bool) error { return nil }
	for _, waiting := range []int{0, 1000} {
		b.Run(fmt.Sprint("waiting=", waiting), func(b *testing.B) {
			c, err := pipeline.NewConsumer(pipeline.NewQueue(pipeline.QueueConfig{}), pipeline.Config{
				Stages: []pipeline.Stage{{Name: "objects", Invalidate: nothing}, {Name: "responses", Invalidate: nothing}},
				Warm:   func(context.Context, *pipeline.Warmup) error { return nil }, Debounce: 1 << 40,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close(b.Context()) }()
			for i := range waiting {
				if err := c.Apply(b.Context(), warming(event(fmt.Sprint("s", i), fmt.Sprint("e", i)), fmt.Sprint("w", i))); err != nil {
					b.Fatal(err)
				}
			}
			e := pipeline.Event{Subject: "post:7", Invalidates: []string{"post:7", "posts", "feed"}, Warms: []string{"post:7"}}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e.Key = strconv.Itoa(i)
				if err := c.Apply(b.Context(), e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPublish(b *testing.B) {
	q := pipeline.NewQueue(pipeline.QueueConfig{})
	e := pipeline.Event{Subject: "post:7", Invalidates: []string{"post:7", "posts", "feed"}, Warms: []string{"post:7"}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.Key = strconv.Itoa(i)
		if _, err := q.Publish(e); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 0 {
			q.Drain(0)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	var d pipeline.Drained
	for i := range 100 {
		e := warming(event(fmt.Sprint("post:", i%50), fmt.Sprint("post:", i%50), "posts", "feed"), fmt.Sprint("post:", i%50), "home")
		e.Epoch = uint64(i + 1)
		d.Events = append(d.Events, e)
	}
	b.ReportAllocs()
	for b.Loop() {
		pipeline.Merge(d)
	}
}
