package digest_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

// A restarted program makes no call for digests in the database.
func TestRestart(t *testing.T) {
	w := newWorld(t, 1)
	ann, bob := w.user("ann", 1), w.user("bob", 1)
	first := w.daily(ann)
	for range 2 {
		s := storetest.Open(t, w.path, w.clock.Now)
		svc := w.open(s)
		if r := w.generate(svc, bob, digest.Daily); r.Row.Content != first.Row.Content {
			t.Errorf("after a restart: %q from %s", r.Row.Content, r.Origin)
		}
		if err := svc.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.wantCalls(1)
}

// The source document's model of a hundred users: most use a pack unchanged, some change it
// a little, and some choose among popular sources.
func hitRate(t *testing.T) {
	const users, sources = 100, 20
	w := newWorld(t, sources)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddPack(ctx, store.Pack{Slug: "start", Default: true, SourceIDs: []int64{1, 2, 3, 4, 5, 6, 7, 8}})
		return err
	})
	r := rand.New(rand.NewPCG(1, 2))
	popular := rand.NewZipf(r, 1.5, 1, sources-9)
	var ids []int64
	for i := range users {
		id := w.user("user" + strconv.Itoa(i))
		w.write(func(ctx context.Context, tx *store.Tx) error {
			switch i % 10 {
			case 0:
				return tx.Subscribe(ctx, id, 9+int64(popular.Uint64()))
			case 1:
				if err := tx.Unsubscribe(ctx, id, 1, 2, 3, 4, 5, 6, 7, 8); err != nil {
					return err
				}
				return tx.Subscribe(ctx, id, 9+int64(popular.Uint64()), 9+int64(popular.Uint64()))
			}
			return nil
		})
		ids = append(ids, id)
	}
	for _, id := range ids {
		w.daily(id)
	}
	stats, err := w.Stats(t.Context())
	if err != nil || stats.HitRate < 0.85 || float64(users)/float64(stats.Counts["llm_calls"]) < 6.7 {
		t.Errorf("hit rate %.2f with %d calls, %v; want at least 0.85 and 6.7 times fewer", stats.HitRate, stats.Counts["llm_calls"], err)
	}
	if stats.UniqueHashes != stats.Counts["llm_calls"] || w.rows("digests") != users {
		t.Errorf("%d combinations cost %d calls and made %d digests", stats.UniqueHashes, stats.Counts["llm_calls"], w.rows("digests"))
	}
}
