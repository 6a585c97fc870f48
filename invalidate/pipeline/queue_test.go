package pipeline_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

func epochs(events []pipeline.Event) []uint64 {
	var out []uint64
	for _, e := range events {
		out = append(out, e.Epoch)
	}
	return out
}

func TestEventValidate(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n+1) }
	for _, tt := range []struct {
		name string
		e    pipeline.Event
		want string // in the error; empty: valid
	}{
		{"least", pipeline.Event{Key: "k", Subject: "s", Deleted: true}, ""},
		{"warms only", pipeline.Event{Key: "k", Subject: "s", Warms: []string{"w"}}, ""},
		{"no key", pipeline.Event{Subject: "s", Deleted: true}, "key is empty"},
		{"no subject", pipeline.Event{Key: "k", Deleted: true}, "subject is empty"},
		{"nothing to do", pipeline.Event{Key: "k", Subject: "s"}, "neither"},
		{"long key", pipeline.Event{Key: long(pipeline.MaxKeyLen), Subject: "s", Deleted: true}, "key has 513 bytes"},
		{"long subject", pipeline.Event{Key: "k", Subject: long(pipeline.MaxTextLen), Deleted: true}, "subject has"},
		{"empty entity", pipeline.Event{Key: "k", Subject: "s", Invalidates: []string{"a", ""}}, "entity is empty"},
		{"long entity", pipeline.Event{Key: "k", Subject: "s", Invalidates: []string{long(pipeline.MaxTextLen)}}, "entity has"},
		{"many entities", pipeline.Event{Key: "k", Subject: "s", Invalidates: make([]string, pipeline.MaxInvalidates+1)}, "1025 of kind entity"},
		{"long warm-up", pipeline.Event{Key: "k", Subject: "s", Warms: []string{long(pipeline.MaxTextLen)}}, "warm-up has"},
		{"many warm-ups", pipeline.Event{Key: "k", Subject: "s", Warms: make([]string, pipeline.MaxWarms+1)}, "65 of kind warm-up"},
		{"not UTF-8", pipeline.Event{Key: "k", Subject: "s\xff", Deleted: true}, "not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := pipeline.NewQueue(pipeline.QueueConfig{})
			epoch, err := q.Publish(tt.e)
			if tt.want == "" {
				if err != nil || epoch != 1 {
					t.Errorf("Publish = %d, %v", epoch, err)
				}
				return
			}
			if !errors.Is(err, pipeline.ErrEvent) || !strings.Contains(err.Error(), tt.want) || epoch != 0 {
				t.Errorf("Publish = %d, %v, want ErrEvent with %q", epoch, err, tt.want)
			}
			if q.Last() != 0 {
				t.Errorf("Last = %d after a refusal", q.Last())
			}
		})
	}
}

func TestQueueDrainsInOrder(t *testing.T) {
	q := pipeline.NewQueue(pipeline.QueueConfig{})
	publish(t, q, event("a", "a"), event("b", "b"), event("c", "c"))
	d := q.Drain(2)
	if diff := cmp.Diff([]uint64{1, 2}, epochs(d.Events)); diff != "" || d.Last != 2 || d.All {
		t.Errorf("Drain(2) = %+v (-want +got):\n%s", d, diff)
	}
	publish(t, q, event("d", "d"))
	d = q.Drain(0)
	if diff := cmp.Diff([]uint64{3, 4}, epochs(d.Events)); diff != "" || d.Last != 4 {
		t.Errorf("Drain(0) = %+v (-want +got):\n%s", d, diff)
	}
	if d = q.Drain(-1); len(d.Events) != 0 || d.Last != 4 || q.Len() != 0 {
		t.Errorf("Drain of nothing = %+v", d)
	}
}

// What a caller passed or got is his.
func TestQueueKeepsCopies(t *testing.T) {
	q := pipeline.NewQueue(pipeline.QueueConfig{})
	e := warming(event("a", "a"), "w")
	publish(t, q, e)
	e.Invalidates[0], e.Warms[0] = "changed", "changed"
	if d := q.Drain(0); d.Events[0].Invalidates[0] != "a" || d.Events[0].Warms[0] != "w" {
		t.Errorf("the queue holds %+v", d.Events[0])
	}
}

func TestQueueDuplicates(t *testing.T) {
	q := pipeline.NewQueue(pipeline.QueueConfig{MaxKeys: 10})
	first := event("a", "a")
	publish(t, q, first, event("b", "b"))
	if got := publish(t, q, first); got != 1 || q.Len() != 2 {
		t.Errorf("a duplicate: epoch %d, %d queued; want that of the first, 2", got, q.Len())
	}
	q.Drain(0)
	if got := publish(t, q, first); got != 1 || q.Len() != 0 {
		t.Errorf("a duplicate of what was drained: epoch %d, %d queued", got, q.Len())
	}
	for i := range 30 { // no more than twice 10 keys are remembered
		publish(t, q, event("c", fmt.Sprint(i)))
	}
	if got := publish(t, q, first); got != 33 {
		t.Errorf("a duplicate after 30 other keys: epoch %d, want 33", got)
	}
	if got := q.Stats(); got.Duplicates != 2 || got.Published != 33 {
		t.Errorf("Stats = %+v", got)
	}
}

// TestOverflowInvalidatesEverything is W-E2 at the queue: what does not fit is
// not dropped, it becomes an invalidation of everything.
func TestOverflowInvalidatesEverything(t *testing.T) {
	q := pipeline.NewQueue(pipeline.QueueConfig{MaxEvents: 3})
	for i := range 4 {
		publish(t, q, warming(event("s", fmt.Sprint("e", i)), "x", "y"))
	}
	again := publish(t, q, event("later", "later"))
	want := pipeline.QueueStats{Len: 1, Last: 5, Published: 5, Overflows: 1, LostWarms: 8}
	if diff := cmp.Diff(want, q.Stats()); diff != "" || again != 5 {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
	d := q.Drain(1)
	if !d.All || d.Lost != 4 || d.LostWarms != 8 || d.Last != 5 || len(d.Events) != 1 {
		t.Errorf("Drain = %+v", d)
	}
	if d = q.Drain(1); d.All || d.Lost != 0 {
		t.Errorf("the flag was not drained: %+v", d)
	}
}

func TestPublishAll(t *testing.T) {
	q := pipeline.NewQueue(pipeline.QueueConfig{MaxEvents: 2})
	publish(t, q, event("a", "a"), event("b", "b"))
	if got := q.PublishAll(); got != 3 || q.Len() != 2 {
		t.Errorf("PublishAll = %d, %d queued", got, q.Len())
	}
	if d := q.Drain(1); !d.All || d.Last != 1 {
		t.Errorf("Drain = %+v, want the flag at once, and only as far as the events go", d)
	}
	if d := q.Drain(1); d.All || d.Last != 3 {
		t.Errorf("Drain = %+v, want the rest", d)
	}
}

// A queue that is never empty stays as large as what is in it, and no epoch is
// lost or given twice.
func TestQueueConcurrently(t *testing.T) {
	const writers, each = 4, 2000
	q := pipeline.NewQueue(pipeline.QueueConfig{MaxEvents: writers * each})
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				publish(t, q, event("s", "e"))
			}
		})
	}
	var last uint64
	for n := 0; n < writers*each; {
		d := q.Drain(7)
		for _, e := range d.Events {
			if last++; e.Epoch != last {
				t.Fatalf("epoch %d after %d", e.Epoch, last-1)
			}
		}
		n += len(d.Events)
	}
	wg.Wait()
}
