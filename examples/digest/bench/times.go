package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// figure is how long something took.
type figure struct {
	what     string
	promised time.Duration // of the slowest of a hundred
	took     []time.Duration
}

// times measures what costs no call, one at a time: what a user waits for on an idle
// machine.
func (b *bench) times(ctx context.Context) error {
	var all []figure
	for _, measure := range []func(context.Context) ([]figure, error){b.cached, b.lookUps} {
		got, err := measure(ctx)
		if err != nil {
			return err
		}
		all = append(all, got...)
	}
	t := b.table("Times without a call, one after the other.")
	fmt.Fprintln(t, "what\ttimes\tp50\tp99\tpromised\t")
	for _, f := range all {
		p50, p99 := quantile(f.took, 50), quantile(f.took, 99)
		fmt.Fprintf(t, "%s\t%d\t%v\t%v\t< %v\t%s\n", f.what, len(f.took), p50, p99, f.promised, b.verdict(p99 < f.promised))
	}
	return t.Flush()
}

// quantile returns that of so many hundredths.
func quantile(took []time.Duration, hundredths int) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(len(sorted)*hundredths/100, len(sorted)-1)].Round(100 * time.Nanosecond)
}

// timed runs fn with the numbers from 0 to n-1, and returns how long each took.
func timed(n int, fn func(i int) error) (took []time.Duration, err error) {
	for i := range n {
		began := time.Now()
		if err := fn(i); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// cached measures generation where the digests are there already, and what users change.
func (b *bench) cached(ctx context.Context) (all []figure, err error) {
	w, err := b.newWorld(ctx, b.Ops, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close(ctx)) }()
	if report, err := w.GenerateAll(ctx, digest.Daily); err != nil || report.Failed > 0 {
		return nil, errors.Join(err, report.Err())
	}
	calls := w.scribe.calls.Load()
	ids, err := w.Store.UserIDs(ctx, 0, b.Ops)
	if err != nil {
		return nil, err
	}
	cold, err := b.fromFile(ctx, w, ids)
	if err != nil {
		return nil, err
	}
	first, hot, err := b.fromMemory(ctx, w, ids)
	if err != nil {
		return nil, err
	}
	changed, err := b.changes(ctx, w, ids)
	if now := w.scribe.calls.Load(); err == nil && now != calls {
		err = fmt.Errorf("bench: %d calls where none was due", now-calls)
	}
	return []figure{
		{"generate, digest in the file", 5 * time.Millisecond, cold},
		{"generate, digest in memory, user looked up", 5 * time.Millisecond, first},
		{"generate, digest and user in memory", 200 * time.Microsecond, hot},
		{"subscribe or unsubscribe, hash included", 5 * time.Millisecond, changed},
	}, err
}

// want generates a digest that has to come from memory or from the file.
func want(a *app.App, ctx context.Context, user int64, origin digest.Origin) error { //nolint:revive // the program comes first
	res, err := a.Digests.Generate(ctx, digest.Request{UserID: user, Kind: digest.Daily})
	if err == nil && res.Origin != origin {
		err = fmt.Errorf("bench: a digest came from %s, want %s", res.Origin, origin)
	}
	return err
}

// fromFile measures how long users wait for a process that knows nothing yet. The first of
// a combination reads its digest from the file, so each asks a process that has just begun:
// opening it is not measured, nor are users of whom another made the combination known.
func (b *bench) fromFile(ctx context.Context, w *world, ids []int64) (took []time.Duration, err error) {
	for len(took) < min(b.Ops, len(ids)) {
		cold, err := w.open(ctx)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, id := range ids {
			hash, _, err := w.Store.SubscriptionHash(ctx, id)
			if err != nil {
				return nil, errors.Join(err, cold.Close(ctx))
			}
			if seen[hash] {
				continue
			}
			seen[hash] = true
			one, err := timed(1, func(int) error { return want(cold, ctx, id, digest.FromDatabase) })
			if err != nil {
				return nil, errors.Join(err, cold.Close(ctx))
			}
			took = append(took, one...)
		}
		if err := cold.Close(ctx); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// fromMemory measures how long users wait for a process that has their digests: those of
// whom it knows nothing, or nothing of late, and those who ask again at once.
func (b *bench) fromMemory(ctx context.Context, w *world, ids []int64) (first, again []time.Duration, err error) {
	warm, err := w.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, warm.Close(ctx)) }()
	seen := map[string]bool{}
	for _, id := range ids {
		hash, _, err := w.Store.SubscriptionHash(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		if !seen[hash] { // its digest comes from the file
			seen[hash] = true
			if err := want(warm, ctx, id, digest.FromDatabase); err != nil {
				return nil, nil, err
			}
			continue
		}
		for _, took := range []*[]time.Duration{&first, &again} {
			one, err := timed(1, func(int) error { return want(warm, ctx, id, digest.FromMemory) })
			if err != nil {
				return nil, nil, err
			}
			*took = append(*took, one...)
		}
	}
	return first, again, nil
}

// changes measures a user's change of subscriptions, from begin to commit, and to other
// processes having been told. Every second one takes back what the one before did.
func (b *bench) changes(ctx context.Context, w *world, ids []int64) ([]time.Duration, error) {
	sources, err := w.Store.VisibleSources(ctx, 0)
	if err != nil {
		return nil, err
	}
	last := sources[len(sources)-1].ID
	return timed(2*(len(ids)/2), func(i int) error {
		return w.Store.Write(ctx, func(tx *store.Tx) error {
			if i%2 == 0 {
				return tx.Subscribe(ctx, ids[i/2], last)
			}
			return tx.Unsubscribe(ctx, ids[i/2], last)
		})
	})
}

// lookUps measures how long one row of many takes.
func (b *bench) lookUps(ctx context.Context) (all []figure, err error) {
	s, err := store.Open(ctx, filepath.Join(b.dir, "rows.db"), store.Options{Now: func() time.Time { return noon }})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	start := noon.AddDate(0, 0, -1)
	row := func(i int) store.CacheRow {
		return store.CacheRow{
			Hash: store.Hash([]int64{int64(i)}), Type: string(digest.Daily), PeriodStart: start, PeriodEnd: noon,
			State: store.StateReady, Content: string(make([]byte, 8<<10)), CreatedAt: noon, ExpiresAt: noon.AddDate(0, 0, 14),
		}
	}
	err = s.Write(ctx, func(tx *store.Tx) error {
		for i := range b.Rows {
			if err := tx.PutCacheRow(ctx, row(i), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	took, err := timed(b.Ops, func(i int) error {
		r := row(i * 7919 % b.Rows)
		_, err := s.CacheRow(ctx, r.Hash, r.Type, r.PeriodStart, r.PeriodEnd)
		return err
	})
	return []figure{{fmt.Sprintf("look-up of one of %d rows", b.Rows), 5 * time.Millisecond, took}}, err
}
