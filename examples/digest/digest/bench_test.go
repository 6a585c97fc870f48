package digest_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// timed measures run after each prepare, which may be nil, and reports the median and the slow end.
func timed(b *testing.B, prepare, run func()) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		if prepare != nil {
			b.StopTimer()
			prepare()
			b.StartTimer()
		}
		began := time.Now()
		run()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

// filled returns a database with a number of digests, each of its own combination and user.
func filled(b *testing.B, digests int) (w *world, users []int64) {
	b.Helper()
	w = newWorld(b, 16)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range digests {
			name := "user" + strconv.Itoa(i)
			id, err := tx.AddUser(ctx, store.User{Email: name, Slug: name})
			if err != nil {
				return err
			}
			var sources []int64
			for bit := range 14 {
				if (i+1)>>bit&1 == 1 {
					sources = append(sources, int64(bit+1))
				}
			}
			if err := tx.Subscribe(ctx, id, sources...); err != nil {
				return err
			}
			users = append(users, id)
		}
		return nil
	})
	for _, id := range users {
		w.daily(id)
	}
	return w, users
}

// A process that has just started serves a digest that another one made. It reads the cache
// row and writes the user's row. Promised: p99 under 5 ms.
func BenchmarkCachedFromDatabase(b *testing.B) {
	w, users := filled(b, 1000)
	calls := w.scribe.calls.Load()
	writer, _ := w.store.Pools()
	var cold *digest.Service
	next := len(users)
	timed(b, func() {
		if next++; next < len(users) {
			return
		}
		if _, err := writer.ExecContext(b.Context(), `DELETE FROM digests`); err != nil {
			b.Fatal(err)
		}
		cold, _ = w.process(func(c *digest.Config) { c.FlushEvery = 0 })
		next = 0
	}, func() {
		r, err := cold.Generate(b.Context(), digest.Request{UserID: users[next], Kind: digest.Daily})
		if err != nil || r.Origin != digest.FromDatabase {
			b.Fatal(r.Origin, err)
		}
	})
	w.wantCalls(calls)
}

// A user's second request: the digest is in memory, the user's row in the file.
func BenchmarkCachedFromMemory(b *testing.B) {
	w, users := filled(b, 100)
	i := 0
	timed(b, nil, func() {
		i++
		if r, err := w.Generate(b.Context(), digest.Request{UserID: users[i%len(users)], Kind: digest.Daily}); err != nil || r.Origin != digest.FromMemory {
			b.Fatal(r.Origin, err)
		}
	})
}

// The digest is in memory, and the user's row must be written.
func BenchmarkNextUserOfACombination(b *testing.B) {
	w, users := filled(b, 2)
	writer, _ := w.store.Pools()
	timed(b, func() {
		if _, err := writer.ExecContext(b.Context(), `DELETE FROM digests`); err != nil {
			b.Fatal(err)
		}
	}, func() { w.daily(users[1]) })
}

// A subscription with its hash. Promised: under 5 ms.
func BenchmarkSubscribe(b *testing.B) {
	w := newWorld(b, 20)
	ann := w.user("ann", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	on := false
	timed(b, nil, func() {
		on = !on
		w.write(func(ctx context.Context, tx *store.Tx) error {
			if on {
				return tx.Subscribe(ctx, ann, 20)
			}
			return tx.Unsubscribe(ctx, ann, 20)
		})
	})
}

// One row of 10,000. Promised: under 5 ms.
func BenchmarkLookUp(b *testing.B) {
	w := newWorld(b, 0)
	start, end := noon.AddDate(0, 0, -1), noon
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range int64(10_000) {
			_, err := tx.PutCacheRow(ctx, store.CacheRow{
				Hash: store.Hash([]int64{i}), Type: "daily", PeriodStart: start, PeriodEnd: end,
				State: store.StateReady, Content: string(make([]byte, 8<<10)), CreatedAt: noon, ExpiresAt: noon.AddDate(0, 0, 14),
			}, 0)
			if err != nil {
				return err
			}
		}
		return nil
	})
	i := int64(0)
	timed(b, nil, func() {
		i = (i + 7919) % 10_000
		if _, err := w.store.CacheRow(b.Context(), store.Hash([]int64{i}), "daily", start, end); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	ids := make([]int64, 50)
	for i := range ids {
		ids[i] = int64(i * 7919 % 1000)
	}
	for name, o := range map[string]digest.Options{"plain": {}, "options": {Language: "zh", Model: "m-1", Prompt: "1"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := digest.Hash(ids, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
