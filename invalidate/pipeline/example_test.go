package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

func Example() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer tiers.Close(ctx)
	title := "Old title"
	pages, err := cache.New(tiers, cache.Config[string, string]{
		Namespace: "pages",
		Load: func(ctx context.Context, path string) (string, error) {
			cache.Depend(ctx, "post:7", "posts") // what the page shows
			return title + " at " + path, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// The entities of an event are the tags of what is made of them.
	drop := func(ctx context.Context, entities []string, all bool) error {
		scopes := []invalidate.Scope{invalidate.All()}
		if !all {
			scopes = nil
			for _, e := range entities {
				scopes = append(scopes, invalidate.Tag(cache.DefaultTenant, e))
			}
		}
		return tiers.Invalidate(ctx, scopes...)
	}
	warmed := make(chan string)
	events, err := pipeline.NewConsumer(pipeline.NewQueue(pipeline.QueueConfig{}), pipeline.Config{
		Stages:   []pipeline.Stage{{Name: "pages", Invalidate: drop}},
		Debounce: time.Millisecond,
		Warm: func(ctx context.Context, w *pipeline.Warmup) error {
			path, ok := strings.CutPrefix(w.Name, "page ")
			if !ok {
				return errors.New("no such warm-up")
			}
			_, err := pages.Get(ctx, path)
			warmed <- path
			return err
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	go events.Run(ctx) // for what no writer has consumed
	if _, err := pages.Get(ctx, "home"); err != nil {
		log.Fatal(err)
	}

	// A post was saved. When Apply returns, no page shows what it was.
	title = "New title"
	if err := events.Apply(ctx, pipeline.Event{
		Key: "save 7, version 12", Subject: "post:7",
		Invalidates: []string{"post:7", "posts"},
		Warms:       []string{"page home"},
	}); err != nil {
		log.Print(err) // it is saved all the same, and Run tries again
	}
	fmt.Println("warmed up", <-warmed)
	fmt.Println(pages.Peek(ctx, "home"))
	if err := events.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// warmed up home
	// New title at home true
}

// Plans are the union of what to invalidate, and the last word on what to warm
// up.
func ExampleMerge() {
	q := pipeline.NewQueue(pipeline.QueueConfig{})
	for i, slugs := range [][2]string{{"a", "b"}, {"b", "c"}} {
		if _, err := q.Publish(pipeline.Event{
			Key: fmt.Sprint("move ", i), Subject: "post:7",
			Invalidates: []string{"slug:" + slugs[0], "slug:" + slugs[1]},
			Warms:       []string{"page /" + slugs[1]},
		}); err != nil {
			log.Fatal(err)
		}
	}
	p := pipeline.Merge(q.Drain(100))
	fmt.Println("invalidate", p.Entities)
	for _, w := range p.Warms {
		fmt.Println("warm up", w.Name, "for", w.Subjects, "as of", w.Epoch)
	}
	// Output:
	// invalidate [slug:a slug:b slug:c]
	// warm up page /c for [post:7] as of 2
}
