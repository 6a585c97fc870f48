package digest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/tier/tiertest"
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

// If the log is lost, no cell is used. The digests are in the database, and cost no call.
func TestLostLogCostsNoCall(t *testing.T) {
	w := newWorld(t, 1)
	ann, bob, eve := w.user("ann", 1), w.user("bob", 1), w.user("eve", 1)
	first := w.daily(ann)
	writer, _ := w.store.Pools()
	if _, err := writer.ExecContext(t.Context(), `DELETE FROM twofold_log`); err != nil {
		t.Fatal(err)
	}
	other, _ := w.process()
	for i, s := range []*digest.Service{other, w.Service} {
		user := []int64{bob, eve}[i]
		r := w.generate(s, user, digest.Daily)
		if r.Row.Content != first.Row.Content {
			t.Errorf("process %d has %q", i, r.Row.Content)
		}
		w.wantSame(user, r)
	}
	w.wantCalls(1)
}

// A process uses the subscriptions that another process changed at once.
func TestOtherProcessHearsOfSubscriptions(t *testing.T) {
	w := newWorld(t, 2)
	ann := w.user("ann", 1)
	other, _ := w.process()
	before := w.generate(other, ann, digest.Daily)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.Subscribe(ctx, ann, 2) })
	if r := w.generate(other, ann, digest.Daily); r.Hash != store.Hash([]int64{1, 2}) {
		t.Errorf("the other process has %.8s", r.Hash)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSource(ctx, 2) })
	for _, s := range []*digest.Service{w.Service, other} {
		if r := w.generate(s, ann, digest.Daily); r.Hash != before.Hash {
			t.Errorf("a process has %.8s", r.Hash)
		}
	}
}

// If processes share something other than the file, such as a Redis, the digests are still
// in the file. If the shared data is lost, no call is made.
func TestSharedElsewhere(t *testing.T) {
	w := newWorld(t, 1)
	remote := tiertest.NewMemory()
	elsewhere := func(c *digest.Config) { c.Remote = remote }
	ann, bob, eve, tom := w.user("ann", 1), w.user("bob", 1), w.user("eve", 1), w.user("tom", 1)
	one, _ := w.process(elsewhere)
	other, _ := w.process(elsewhere)
	w.wantSame(ann, w.generate(one, ann, digest.Daily))
	if r := w.generate(other, bob, digest.Daily); r.Origin != digest.FromDatabase {
		t.Errorf("the other process has it from %s", r.Origin)
	}
	if n, err := one.Forget(t.Context(), store.CacheSelection{All: true}, "root"); err != nil || n != 1 {
		t.Errorf("Forget = %d, %v; want 1", n, err)
	}
	w.wantSame(ann, w.generate(one, ann, digest.Daily))
	w.wantCalls(2)
	lost, _ := w.process(func(c *digest.Config) { c.Remote = tiertest.NewMemory() })
	w.wantSame(eve, w.generate(lost, eve, digest.Daily))
	w.wantSame(tom, w.generate(w.Service, tom, digest.Daily)) // from the file
	w.wantCalls(2)
}

// Running work ends with the service.
func TestCloseLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	clock := storetest.NewClock(noon)
	s, err := store.Open(t.Context(), storetest.Path(t), store.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := digest.Open(t.Context(), digest.Config{Store: s, FlushEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(svc.Close(t.Context()), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestBadConfigurations(t *testing.T) {
	s := storetest.New(t, nil)
	for name, cfg := range map[string]digest.Config{
		"no store":          {},
		"a zone of nowhere": {Store: s, Zone: "Nowhere/At_All"},
	} {
		_, err := digest.Open(t.Context(), cfg)
		if !errors.Is(err, digest.ErrConfig) {
			t.Errorf("%s: Open = %v, want %v", name, err, digest.ErrConfig)
		}
	}
}

// The source document's model of a hundred users: most use a pack unchanged, some change it
// a little, and some choose among popular sources.
func TestHitRateOfThePackModel(t *testing.T) {
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

// A process was so slow that another took over its claim. Its call is wasted, and its users
// get the text that the other one stored.
func TestSlowerProcessGivesTheFirstText(t *testing.T) {
	w := newWorld(t, 1)
	ann := w.user("ann", 1)
	m, err := w.Material(t.Context(), digest.Request{UserID: ann, Kind: digest.Daily}, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.scribe.says(func(_ context.Context, r summary.Request) (summary.Summary, error) {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.PutCacheRow(ctx, store.CacheRow{
				Hash: m.Hash, SourcesHash: m.Hash, Type: "daily", PeriodStart: r.Start, PeriodEnd: r.End, State: store.StateReady,
				Content: "the first", Metadata: fmt.Appendf(nil, `{"period_start":%d,"period_end":%d}`, r.Start.UnixMilli(), r.End.UnixMilli()),
				CreatedAt: w.clock.Now(), ExpiresAt: w.clock.Now().AddDate(0, 0, 14),
			}, 0)
			return err
		})
		return text(r, 1), nil
	})
	r := w.daily(ann)
	if r.Row.Content != "the first" {
		t.Errorf("the user has %q, want the text that is stored", r.Row.Content)
	}
	w.wantSame(ann, r)
}
