package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

func at(epoch uint64, e pipeline.Event) pipeline.Event {
	e.Epoch = epoch
	return e
}

var planParts = cmp.Options{cmpopts.IgnoreFields(pipeline.Plan{}, "At"), cmpopts.IgnoreUnexported(pipeline.Subject{})}

func drained(events ...pipeline.Event) pipeline.Drained {
	d := pipeline.Drained{Events: events}
	for _, e := range events {
		d.Last = max(d.Last, e.Epoch)
	}
	return d
}

// TestEveryOldSlugIsInvalidated is W-E4: a post that moved twice in one batch.
func TestEveryOldSlugIsInvalidated(t *testing.T) {
	p := pipeline.Merge(drained(
		at(4, warming(event("post:7", "post:7", "slug:a", "slug:b"), "page:b")),
		at(5, warming(event("post:7", "post:7", "slug:b", "slug:c"), "page:c")),
	))
	want := pipeline.Plan{
		Events: 2, First: 4, Last: 5, Entities: []string{"post:7", "slug:a", "slug:b", "slug:c"},
		Subjects: []pipeline.Subject{{Name: "post:7", Epoch: 5, Events: 2}},
		Warms:    []pipeline.Warm{{Name: "page:c", Epoch: 5, Subjects: []string{"post:7"}}},
	}
	if diff := cmp.Diff(want, p, planParts); diff != "" {
		t.Errorf("Merge (-want +got):\n%s", diff)
	}
}

func TestMergeWarms(t *testing.T) {
	post := func(epoch uint64, warms ...string) pipeline.Event {
		return at(epoch, warming(event("post:7", "post:7"), warms...))
	}
	gone := func(epoch uint64, warms ...string) pipeline.Event { return deleting(post(epoch, warms...)) }
	other := func(epoch uint64, warms ...string) pipeline.Event {
		return at(epoch, warming(event("post:8", "post:8"), warms...))
	}
	for _, tt := range []struct {
		name   string
		events []pipeline.Event
		want   []string // name@epoch
	}{
		{"the last update counts", []pipeline.Event{post(1, "a", "b"), post(2, "c")}, []string{"c@2"}},
		{"whatever the order", []pipeline.Event{post(2, "c"), post(1, "a", "b")}, []string{"c@2"}},
		{"a delete ends updates", []pipeline.Event{post(1, "a"), gone(2)}, nil},
		{"also an older one behind it", []pipeline.Event{gone(2), post(1, "a")}, nil},
		{"made again", []pipeline.Event{gone(2), post(3, "a"), post(1, "b")}, []string{"a@3"}},
		{"made again and deleted again", []pipeline.Event{gone(2), post(3, "a"), gone(4)}, nil},
		{"a delete warms what it lists", []pipeline.Event{post(1, "a"), gone(2, "home")}, []string{"home@2"}},
		{"at one epoch the delete wins", []pipeline.Event{gone(2), post(2, "a")}, nil},
		{"other subjects are none of its business", []pipeline.Event{other(1, "home", "x"), gone(2)}, []string{"home@1", "x@1"}},
		{"one for two", []pipeline.Event{post(1, "home", "a"), other(2, "b", "home")}, []string{"home@2", "a@1", "b@2"}},
		{"the order of the epochs", []pipeline.Event{other(9, "z", "y"), post(3, "x")}, []string{"x@3", "z@9", "y@9"}},
		{"twice in one event", []pipeline.Event{post(1, "a", "a")}, []string{"a@1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, w := range pipeline.Merge(drained(tt.events...)).Warms {
				got = append(got, fmt.Sprint(w.Name, "@", w.Epoch))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Warms (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMergeNothing(t *testing.T) {
	p := pipeline.Merge(pipeline.Drained{All: true, Last: 9, Lost: 5})
	if diff := cmp.Diff(pipeline.Plan{All: true, Last: 9, Lost: 5}, p, planParts); diff != "" {
		t.Errorf("Merge (-want +got):\n%s", diff)
	}
}

// A plan does not depend on the order of the slice, and invalidates every entity
// of every event.
func TestMergeModel(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	lists := rapid.SliceOfN(names, 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		var events []pipeline.Event
		for i := range rapid.IntRange(0, 8).Draw(t, "n") {
			events = append(events, pipeline.Event{
				Subject: names.Draw(t, "subject"), Deleted: rapid.Bool().Draw(t, "deleted"), Epoch: uint64(i + 1),
				Invalidates: lists.Draw(t, "invalidates"), Warms: lists.Draw(t, "warms"),
			})
		}
		p := pipeline.Merge(drained(events...))
		shuffled := rapid.Permutation(events).Draw(t, "shuffled")
		if diff := cmp.Diff(p, pipeline.Merge(drained(shuffled...)), planParts); diff != "" {
			t.Fatalf("another order (-want +got):\n%s", diff)
		}
		entities, final := map[string]bool{}, map[string]pipeline.Event{}
		for _, e := range events {
			final[e.Subject] = e
			for _, name := range e.Invalidates {
				entities[name] = true
			}
		}
		if len(p.Entities) != len(entities) {
			t.Fatalf("Entities = %q, want %v", p.Entities, entities)
		}
		warms := map[string]uint64{}
		for _, e := range final {
			for _, name := range e.Warms {
				warms[name] = max(warms[name], e.Epoch)
			}
		}
		if len(p.Warms) != len(warms) {
			t.Fatalf("Warms = %+v, want %v", p.Warms, warms)
		}
		for _, w := range p.Warms {
			if warms[w.Name] != w.Epoch {
				t.Fatalf("Warms = %+v, want %v", p.Warms, warms)
			}
		}
	})
}
