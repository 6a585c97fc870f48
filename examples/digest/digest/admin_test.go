package digest_test

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// prompt makes the hash differ from the one of the ids alone.
var prompt = summary.Variant{Prompt: "1"}

// Exactly the selected digests are deleted, in all processes. The users' rows stay.
func operatorDeletes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		sel     func(ann digest.Result) store.CacheSelection
		deleted int64
		gone    [3]bool // of ann's daily, ann's weekly, and bob's daily
	}{
		{"by hash", func(ann digest.Result) store.CacheSelection { return store.CacheSelection{Hash: ann.Hash} }, 2, [3]bool{true, true, false}},
		{"by the hash of the sources", func(digest.Result) store.CacheSelection {
			return store.CacheSelection{Hash: store.Hash([]int64{1})}
		}, 2, [3]bool{true, true, false}},
		{"by time", func(ann digest.Result) store.CacheSelection { return store.CacheSelection{Before: ann.Window.Start} }, 1, [3]bool{false, true, false}},
		{"all", func(digest.Result) store.CacheSelection { return store.CacheSelection{All: true} }, 3, [3]bool{true, true, true}},
		{"nothing of that hash", func(digest.Result) store.CacheSelection {
			return store.CacheSelection{Hash: store.Hash([]int64{77})}
		}, 0, [3]bool{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			changed := func(c *digest.Config) {
				c.Summariser.(*scribe).variant = prompt // so that the two hashes differ
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			}
			w := newWorld(t, 2, changed)
			w.bring(noon.AddDate(0, 0, -5), 2) // in the last closed week
			w.clock.Set(noon)
			other, _ := w.process(changed)
			ann, bob := w.user("ann", 1), w.user("bob", 2)
			ask := func(s *digest.Service) (all []digest.Result) {
				return []digest.Result{w.generate(s, ann, digest.Daily), w.generate(s, ann, digest.Weekly), w.generate(s, bob, digest.Daily)}
			}
			before := ask(w.Service)
			ask(other) // now they are in memory
			digests := w.rows("digests")

			deleted, err := w.Forget(t.Context(), tt.sel(before[0]), "root")
			if err != nil || deleted != tt.deleted {
				t.Errorf("Forget = %d, %v; want %d", deleted, err, tt.deleted)
			}
			if n := w.rows("digest_cache"); n != 3-int(tt.deleted) || w.rows("digests") != digests {
				t.Errorf("%d rows are left in the cache, and %d digests; want %d and %d", n, w.rows("digests"), 3-tt.deleted, digests)
			}
			if !strings.Contains(log.String(), "actor=root") {
				t.Errorf("the log does not say who: %s", log.String())
			}
			calls := w.scribe.calls.Load()
			after := ask(w.Service)
			for i, r := range after {
				if gone := r.Row.Content != before[i].Row.Content; gone != tt.gone[i] || r.Row.ID != before[i].Row.ID {
					t.Errorf("digest %d was made again: %v, want %v; in row %d, want %d", i, gone, tt.gone[i], r.Row.ID, before[i].Row.ID)
				}
				w.wantSame([]int64{ann, ann, bob}[i], r)
			}
			w.wantCalls(calls + tt.deleted)
			// The other process had them in memory. It must apply the deletion.
			until(t, "other process that has heard", func() bool {
				for i, r := range ask(other) {
					if r.Row.Content != after[i].Row.Content {
						return false
					}
				}
				return true
			})
			w.wantCalls(calls + tt.deleted)
		})
	}
}

// Expired digests are deleted, by the program's clock.
func expiryCleans(t *testing.T) {
	w := newWorld(t, 1)
	ann := w.user("ann", 1)
	w.bring(noon.AddDate(0, 0, -5), 1)
	w.bring(noon.AddDate(0, -1, 0), 1)
	w.clock.Set(noon)
	for _, k := range digest.Kinds() {
		w.generate(w.Service, ann, k)
	}
	const day = 24 * time.Hour
	for _, step := range []struct {
		later time.Duration
		want  int64
		left  int
	}{
		{3*day - time.Millisecond, 0, 4},
		{3 * day, 1, 3},
		{14 * day, 1, 2},
		{60*day - time.Millisecond, 0, 2},
		{60 * day, 1, 1},
		{180 * day, 1, 0},
	} {
		w.clock.Set(noon.Add(step.later))
		if n, err := w.Clean(t.Context()); err != nil || n != step.want || w.rows("digest_cache") != step.left {
			t.Errorf("after %v: Clean = %d, %v and %d are left; want %d and %d", step.later, n, err, w.rows("digest_cache"), step.want, step.left)
		}
	}
	if n := w.rows("digests"); n != 4 {
		t.Errorf("%d digests are left, want all that users have", n)
	}
}

// The statistics count all processes, and outlive them.
func TestStats(t *testing.T) {
	w := newWorld(t, 3)
	users := []int64{w.user("a", 1), w.user("b", 1), w.user("c", 1), w.user("d", 2, 3), w.user("e")}
	for _, u := range users {
		w.daily(u)
	}
	other, _ := w.process()
	w.generate(other, users[0], digest.Daily)
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, _ := w.process()
	for _, s := range []*digest.Service{w.Service, again} {
		got, err := s.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		delete(got.Counts, "llm_ms") // depends on the time
		want := map[string]int64{"requests": 6, "hits": 3, "misses": 2, "no_sources": 1, "llm_calls": 2, "tokens": 200}
		if diff := cmp.Diff(want, got.Counts); diff != "" {
			t.Error(diff)
		}
		if math.Abs(got.HitRate-0.6) > 1e-9 || got.Saved != 0.09 || got.Spent != 0.06 {
			t.Errorf("rate %v, saved %v, spent %v; want 0.6, 0.09, 0.06", got.HitRate, got.Saved, got.Spent)
		}
		if got.Total != 2 || got.UniqueHashes != 2 || got.ByType["daily"] != 2 {
			t.Errorf("stats are %+v", got)
		}
	}
}
