package digest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// Two users with the same sources, in any order: one call.
func sameCombination(t *testing.T) {
	w := newWorld(t, 3)
	ann, bob, eve := w.user("ann", 3, 1), w.user("bob", 1), w.user("eve", 1, 2)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.Subscribe(ctx, bob, 3) })
	first, second := w.daily(ann), w.daily(bob)
	w.wantCalls(1)
	if first.Origin != digest.FromCall || second.Origin != digest.FromMemory || first.Row.Content != second.Row.Content || first.Row.ID == second.Row.ID {
		t.Errorf("the first came from %s in row %d, the second from %s in row %d", first.Origin, first.Row.ID, second.Origin, second.Row.ID)
	}
	if first.Hash != store.Hash([]int64{1, 3}) {
		t.Errorf("the hash is %s, want the hash of only the ids", first.Hash)
	}
	w.wantSame(ann, first)
	w.wantSame(bob, second)
	w.wantSame(eve, w.daily(eve))
	w.wantCalls(2)
}

// The rows in digests and in the cache are equal, byte for byte, even with special characters.
func contentIsTheRows(t *testing.T) {
	w := newWorld(t, 1)
	w.scribe.says(func(context.Context, summary.Request) (summary.Summary, error) {
		return summary.Summary{Markdown: "# 每日摘要 \u2028 \"quoted\" \\back\\ \t e\u0301 <b>\u0000\r\n\r\nend  "}, nil
	})
	ann, bob := w.user("ann", 1), w.user("bob", 1)
	w.wantSame(ann, w.daily(ann))
	w.wantSame(bob, w.daily(bob))
	other, _ := w.process()
	w.wantSame(bob, w.generate(other, bob, digest.Daily))
	w.wantCalls(1)
}

// A second request returns the same row, writes nothing and calls nothing.
func TestAskingAgain(t *testing.T) {
	w := newWorld(t, 1)
	ann := w.user("ann", 1)
	first := w.daily(ann)
	writer, _ := w.store.Pools()
	if _, err := writer.ExecContext(t.Context(), `CREATE TRIGGER unwanted BEFORE UPDATE ON digests BEGIN SELECT RAISE(ABORT, 'written'); END`); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Hour)
	for range 3 {
		again := w.daily(ann)
		if diff := cmp.Diff(first.Row, again.Row); diff != "" || again.Origin != digest.FromMemory {
			t.Errorf("from %s: %s", again.Origin, diff)
		}
	}
	other, _ := w.process()
	again := w.generate(other, ann, digest.Daily)
	if diff := cmp.Diff(first.Row, again.Row); diff != "" || again.Origin != digest.FromDatabase {
		t.Errorf("in another process from %s: %s", again.Origin, diff)
	}
	if n := w.rows("digests"); n != 1 {
		t.Errorf("there are %d digests, want 1", n)
	}
	w.wantCalls(1)
}

// After a user unsubscribes, the hash and the digest differ.
func unsubscribeMisses(t *testing.T) {
	w := newWorld(t, 2)
	ann, bob := w.user("ann", 1, 2), w.user("bob", 1, 2)
	before := w.daily(ann)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.Unsubscribe(ctx, ann, 2) })
	after := w.daily(ann)
	if after.Hash == before.Hash || after.Hash != store.Hash([]int64{1}) || after.Origin != digest.FromCall {
		t.Errorf("the hash went from %.8s to %.8s, and the digest came from %s", before.Hash, after.Hash, after.Origin)
	}
	if r := w.daily(bob); r.Hash != before.Hash || r.Origin != digest.FromMemory { // the old one is still valid for others
		t.Errorf("the other user's digest of %.8s came from %s", r.Hash, r.Origin)
	}
	w.wantCalls(2)
}

func deletedSourceMisses(t *testing.T) {
	w := newWorld(t, 2)
	ann, bob := w.user("ann", 1, 2), w.user("bob", 2)
	before := w.daily(ann)
	w.daily(bob)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSource(ctx, 2) })
	if r := w.daily(ann); r.Hash != store.Hash([]int64{1}) || r.Row.Content == before.Row.Content {
		t.Errorf("after the source is gone: %.8s, %q", r.Hash, r.Row.Content)
	}
	if r := w.daily(bob); r.State != digest.NoSources {
		t.Errorf("the user with only that source: %s, want %s", r.State, digest.NoSources)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.RestoreSource(ctx, 2) })
	if r := w.daily(ann); r.Hash != before.Hash || r.Row.Content != before.Row.Content {
		t.Errorf("when it is back: %.8s, %q", r.Hash, r.Row.Content)
	}
	w.wantCalls(3)
}

// A user without subscriptions costs no call and stores no row.
func noSubscriptions(t *testing.T) {
	w := newWorld(t, 1)
	ann := w.user("ann")
	for _, k := range digest.Kinds() {
		if r := w.generate(w.Service, ann, k); r.State != digest.NoSources || r.Hash != store.EmptyHash || r.Row.ID != 0 {
			t.Errorf("%s: %+v, want no sources", k, r)
		}
	}
	w.wantCalls(0)
	if a, b := w.rows("digest_cache"), w.rows("digests"); a+b > 0 {
		t.Errorf("there are %d rows in the cache and %d digests, want none", a, b)
	}
}

// An empty period is known without a call, and cached for all users.
func TestNothingCameCostsNothing(t *testing.T) {
	w := newWorld(t, 1)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddSource(ctx, store.Source{Name: "silent", Type: "rss", Public: true})
		return err
	})
	ann, bob := w.user("ann", 2), w.user("bob", 2)
	for i, want := range []digest.Origin{digest.FromItems, digest.FromMemory} {
		if r := w.daily([]int64{ann, bob}[i]); r.State != digest.Empty || r.Origin != want || r.Row.ID != 0 {
			t.Errorf("user %d: %s from %s in row %d; want %s from %s", i+1, r.State, r.Origin, r.Row.ID, digest.Empty, want)
		}
	}
	other, _ := w.process()
	if r := w.generate(other, bob, digest.Daily); r.State != digest.Empty || r.Origin != digest.FromDatabase {
		t.Errorf("in another process: %s from %s", r.State, r.Origin)
	}
	w.wantCalls(0)
	if s, err := w.Stats(t.Context()); err != nil || s.Saved != 0 || s.Spent != 0 || s.HitRate != 0 || s.Counts["empty"] != 2 {
		t.Errorf("the books say %v saved and %v spent, %v, %v; nothing was", s.Saved, s.Spent, s.Counts, err)
	}
	if a, b := w.rows("digest_cache"), w.rows("digests"); a != 1 || b != 0 {
		t.Errorf("there are %d rows in the cache and %d digests, want 1 and none", a, b)
	}
}

// Each period and type of a combination has its own digest.
func periodsAreApart(t *testing.T) {
	w := newWorld(t, 1)
	ann := w.user("ann", 1)
	seen := map[string]bool{}
	for _, at := range []time.Time{noon, noon.Add(4 * time.Hour), noon.Add(24 * time.Hour)} {
		w.bring(at.Add(-3*time.Hour), 1)
		w.clock.Set(at)
		for _, k := range []digest.Kind{digest.FourHours, digest.Daily} {
			r := w.generate(w.Service, ann, k)
			w.wantSame(ann, r)
			seen[r.Row.Content] = true
			if r.Window.End.After(at.Add(-digest.DefaultGrace)) {
				t.Errorf("at %v the period is [%v, %v), which is open", at, r.Window.Start, r.Window.End)
			}
		}
	}
	w.wantCalls(5) // three periods of four hours, two days
	if len(seen) != 5 {
		t.Errorf("there are %d texts, want 5", len(seen))
	}
}

// A late item belongs to the next period: no digest of the open or closed period gets it.
func lateItems(t *testing.T) {
	w := newWorld(t, 1)
	ann, bob := w.user("ann", 1), w.user("bob", 1)
	before := w.generate(w.Service, ann, digest.FourHours)
	w.bring(noon.Add(time.Minute), 1)
	after := w.generate(w.Service, bob, digest.FourHours)
	if after.Row.Content != before.Row.Content {
		t.Errorf("the digest went from %q to %q", before.Row.Content, after.Row.Content)
	}
	if _, err := w.Forget(t.Context(), store.CacheSelection{All: true}, "test"); err != nil {
		t.Fatal(err)
	}
	w.generate(w.Service, ann, digest.FourHours)
	w.clock.Set(noon.Add(4 * time.Hour))
	w.generate(w.Service, ann, digest.FourHours)
	var told []int
	for _, r := range w.scribe.seen {
		told = append(told, len(r.Items))
	}
	if diff := cmp.Diff([]int{1, 1, 3}, told); diff != "" {
		t.Errorf("items told of, once, again, and in the next period: %s", diff)
	}
}

// Many requests at once: one call, and all get its text.
func togetherOneCall(t *testing.T) {
	w := newWorld(t, 2)
	var users []int64
	for i := range 12 {
		users = append(users, w.user(fmt.Sprint("user", i), 1, 2))
	}
	release := make(chan struct{})
	w.scribe.says(func(_ context.Context, r summary.Request) (summary.Summary, error) {
		<-release
		return text(r, 1), nil
	})
	other, _ := w.process()
	results := make([]digest.Result, 3*len(users))
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			results[i] = w.generate([]*digest.Service{w.Service, other}[i%2], users[i%len(users)], digest.Daily)
		})
	}
	until(t, "call", func() bool { return w.scribe.calls.Load() > 0 }) // all others wait for it
	close(release)
	wg.Wait()
	w.wantCalls(1)
	for i, r := range results {
		w.wantSame(users[i%len(users)], r)
	}
	if n := w.rows("digests"); n != len(users) {
		t.Errorf("there are %d digests, want one per user", n)
	}
}
