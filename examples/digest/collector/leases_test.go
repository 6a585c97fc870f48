package collector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/pool"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// Two collectors share one file, each with its own connections. Each source is fetched
// once, and each item stored once.
func TestTwoCollectors(t *testing.T) {
	w := newWorld(t)
	var ids []int64
	for i := range 30 {
		ids = append(ids, w.add("rss", fmt.Sprintf(`{"url":"https://h%d.example/"}`, i)))
	}
	w.fakes["rss"].set(listing("a", "b"), nil)
	var both sync.WaitGroup
	for _, db := range []*store.Store{w.db, w.open()} {
		c := w.collector(func(c *collector.Config) { c.Store = db })
		both.Go(func() {
			if err := c.RunOnce(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for config, n := range w.fakes["rss"].calls {
		if n != 1 {
			t.Errorf("%s was fetched %d times", config, n)
		}
	}
	for _, id := range ids {
		if diff := cmp.Diff([]string{"a", "b"}, w.items(id)); diff != "" || w.state(id).FetchCount != 1 {
			t.Errorf("source %d (-want +got):\n%s", id, diff)
		}
	}
}

// The limit of a host applies to all collectors together.
func TestPerHostOfAllCollectors(t *testing.T) {
	w := newWorld(t)
	for i := range 6 {
		w.add("rss", fmt.Sprintf(`{"url":"https://one.example/%d"}`, i))
	}
	running, release := make(chan struct{}, 6), make(chan struct{})
	w.fakes["rss"].do = func(context.Context, fetchers.Source) (fetchers.Result, error) {
		running <- struct{}{}
		<-release
		return listing("a"), nil
	}
	ctx, stop := context.WithCancel(t.Context())
	var both sync.WaitGroup
	for _, db := range []*store.Store{w.db, w.open()} {
		c := w.collector(func(c *collector.Config) { c.Store, c.Settings.Tick = db, 5*time.Millisecond })
		both.Go(func() {
			if err := c.Run(ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
	w.wait(running)
	w.wait(running)
	close(release)
	w.eventually("all are fetched", func() bool { return w.fakes["rss"].total() == 6 })
	stop()
	both.Wait()
	if got := w.fakes["rss"].most; got != 2 {
		t.Errorf("%d fetches of one host at a time, want 2", got)
	}
}

// A collector that crashed keeps its sources until its leases expire.
func TestCrashedCollectorsLeasesRunOut(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	dead := store.Claim{Owner: "dead", For: 2 * time.Minute, Types: []string{"rss"}, Max: 5, PerHost: 5, HostOf: func(store.Source) string { return "" }}
	leases, _, err := w.db.ClaimDue(t.Context(), dead)
	if err != nil || len(leases) != 1 {
		t.Fatalf("%d leases, %v", len(leases), err)
	}
	c := w.collector()
	w.clock.add(2*time.Minute - time.Millisecond)
	if w.once(c); w.fakes["rss"].total() != 0 {
		t.Error("fetched while another's lease was good")
	}
	w.clock.add(time.Millisecond)
	if w.once(c); w.fakes["rss"].total() != 1 {
		t.Error("not fetched although the lease had run out")
	}
	// The collector was only slow. Its result comes too late.
	_, err = w.db.FinishFetch(t.Context(), leases[0], store.Fetched{Started: noon, Listed: true, Items: []store.Item{{GUID: "late"}}})
	if !errors.Is(err, store.ErrLeaseLost) || len(w.items(id)) != 0 || w.state(id).FetchCount != 1 {
		t.Errorf("FinishFetch = %v; items %v, want ErrLeaseLost and none", err, w.items(id))
	}
}

// A fetch that takes longer than its lease.
func TestLostLeaseStoresNothing(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	other := w.collector()
	w.fakes["rss"].do = func(ctx context.Context, _ fetchers.Source) (fetchers.Result, error) {
		w.clock.add(time.Hour)
		w.fakes["rss"].mu.Lock()
		w.fakes["rss"].do = nil
		w.fakes["rss"].mu.Unlock()
		w.fakes["rss"].set(listing("new"), nil)
		return listing("old"), other.RunOnce(ctx, nil)
	}
	c := w.collector()
	w.once(c)
	if diff := cmp.Diff([]string{"new"}, w.items(id)); diff != "" || c.Counts().Lost != 1 || w.state(id).FetchCount != 1 {
		t.Errorf("%+v, items (-want +got):\n%s", c.Counts(), diff)
	}
}

// After a second signal, or after the drain time, an interrupted fetch does not count.
func TestCutFetchCountsForNothing(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	started := make(chan struct{})
	w.fakes["rss"].do = func(ctx context.Context, _ fetchers.Source) (fetchers.Result, error) {
		close(started)
		<-ctx.Done()
		return fetchers.Result{}, ctx.Err()
	}
	ctx, stop := context.WithCancel(t.Context())
	kill, done := make(chan struct{}), make(chan error, 1)
	c := w.collector()
	before := w.state(id)
	go func() { done <- c.Run(ctx, kill) }()
	w.wait(started)
	if w.state(id).ClaimedUntil.IsZero() {
		t.Error("it is fetched without a lease")
	}
	stop()
	close(kill)
	if err := w.result(done); !errors.Is(err, pool.ErrCut) {
		t.Errorf("Run = %v, want ErrCut", err)
	}
	if diff := cmp.Diff(before, w.state(id)); diff != "" || c.Counts().Returned != 1 {
		t.Errorf("%+v, the source:\n%s", c.Counts(), diff)
	}
}

// A single fetch by id, without Run, returns its lease too.
func TestCutFetchGivesItsLeaseBack(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	ctx, stop := context.WithCancel(t.Context())
	w.fakes["rss"].do = func(ctx context.Context, _ fetchers.Source) (fetchers.Result, error) {
		stop()
		return fetchers.Result{}, ctx.Err()
	}
	before := w.state(id)
	r, err := w.collector().CollectSource(ctx, id)
	if diff := cmp.Diff(before, w.state(id)); err != nil || !r.Returned || diff != "" {
		t.Errorf("%+v, %v, the source:\n%s", r, err, diff)
	}
}

// A fetch that hangs ends at its timeout, as a failure of the source.
func TestFetchTimeout(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	w.fakes["rss"].do = func(ctx context.Context, _ fetchers.Source) (fetchers.Result, error) {
		<-ctx.Done()
		return fetchers.Result{}, ctx.Err()
	}
	w.once(w.collector(func(c *collector.Config) { c.FetchTimeout = time.Millisecond }))
	if s := w.state(id); s.Failures != 1 || s.LastError == "" {
		t.Errorf("%+v", s)
	}
}

// A source that is edited during its fetch is due at once.
func TestEditedWhileFetched(t *testing.T) {
	for _, fail := range []error{nil, errFake} {
		w := newWorld(t)
		id := w.add("rss", `{"url":"https://old.example/"}`)
		c := w.collector()
		w.fakes["rss"].do = func(_ context.Context, s fetchers.Source) (fetchers.Result, error) {
			if string(s.Config) == `{"url":"https://old.example/"}` {
				w.clock.add(time.Second)
				w.sql(`UPDATE sources SET config = '{"url":"https://new.example/"}', updated_at = ?`, w.clock.now().UnixMilli())
				return fetchers.Result{FreshFor: 5 * time.Hour}, fail
			}
			return listing("new"), nil
		}
		w.once(c)
		w.once(c)
		if diff := cmp.Diff([]string{"new"}, w.items(id)); diff != "" || w.fakes["rss"].total() != 2 {
			t.Errorf("first fetch failed with %v: %d fetches, items (-want +got):\n%s", fail, w.fakes["rss"].total(), diff)
		}
	}
}

// Random changes, fetches, failures and crashes between a fetch and its write. In the end,
// each item of a successful fetch is stored once.
func TestNoItemTwiceNoneLost(t *testing.T) {
	w := newWorld(t)
	id := w.add("rss", "")
	c := w.collector()
	var feed []string
	want := map[string]bool{}
	w.fakes["rss"].do = func(_ context.Context, s fetchers.Source) (fetchers.Result, error) {
		r := listing(feed...)
		r.NotModified = r.Seen == s.Seen
		if r.NotModified {
			r.Items = nil
		}
		return r, nil
	}
	// A single long history needs no generator: it covers every order of two steps many times.
	for step, x := 0, uint32(42); step < 150; step++ {
		x = x*1664525 + 1013904223
		switch x >> 29 {
		case 0, 1: // publish, and drop old items
			feed = append(feed, fmt.Sprint("item ", step))
			feed = feed[max(0, len(feed)-5):]
		case 2: // a crash after the fetch
			l, err := w.db.ClaimSource(t.Context(), id, "crashed", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.fakes["rss"].Fetch(t.Context(), fetchers.Source{Config: l.State.Config, Seen: l.State.SeenHash}); err != nil {
				t.Fatal(err)
			}
			w.clock.add(time.Minute)
		case 3: // a fetch by id
			if _, err := c.CollectSource(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			w.see(want, feed)
		default:
			w.clock.add(2 * time.Hour)
			before := w.state(id).FetchCount
			w.once(c)
			if w.state(id).FetchCount > before {
				w.see(want, feed)
			}
		}
	}
	got := w.items(id)
	slices.Sort(got)
	if dup := slices.Compact(slices.Clone(got)); len(dup) != len(got) || len(got) != len(want) {
		t.Errorf("%d items of which %d differ, want %d", len(got), len(dup), len(want))
	}
	if len(want) < 20 {
		t.Fatalf("the history has %d items, which proves little", len(want))
	}
}

func (w *world) see(want map[string]bool, feed []string) {
	for _, title := range feed {
		want[title] = true
	}
}
