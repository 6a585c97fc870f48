package collector_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
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
