package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/proc"
)

// patience is how long a call may take; haste is how long most reads wait for
// somebody's slow load, so that the readers do not all end up behind a few.
const (
	patience = 8 * time.Second
	haste    = 100 * time.Millisecond
)

// shortTTL is that of the odd keys, where the call can say so: they live on
// stale values and refreshes.
var shortTTL = cache.TTL(1500 * time.Millisecond)

// read makes one call of whatever reads. All of them promise the same.
func (w *worker) read(rng *rand.Rand) {
	wait := patience
	if rng.IntN(4) > 0 {
		wait = haste
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	i := rng.IntN(w.cfg.Keys)
	switch draw := rng.IntN(100); {
	case draw < 55:
		w.fetch(ctx, i, 0)
	case draw < 60:
		w.fetch(ctx, i, w.cfg.Bound/5)
	case draw < 82:
		w.get(ctx, i)
	case draw < 92:
		w.getMany(ctx, rng)
	case draw < 98:
		w.peek(ctx, i)
	case draw < 99:
		if err := w.cache.Expire(ctx, Name(i)); err != nil {
			w.failed("expire", err)
		}
	default:
		if err := w.cache.Refresh(ctx, Name(i)); err != nil {
			w.failed("refresh", err)
		}
	}
}

func (w *worker) fetch(ctx context.Context, i int, maxAge time.Duration) {
	var opts []cache.Option
	if i%2 == 1 {
		opts = append(opts, shortTTL)
	}
	if maxAge > 0 {
		opts = append(opts, cache.MaxAge(maxAge))
	}
	e := history.Event{Start: proc.Now(), MaxAge: int64(maxAge)}
	r, err := w.cache.Fetch(ctx, Name(i), nil, opts...)
	e.End, e.Stale, e.Age = proc.Now(), r.Stale, int64(r.Age)
	switch r.Source {
	case cache.Local:
		e.Tier = history.Local
	case cache.Remote:
		e.Tier = history.Remote
	case cache.Load:
		e.Tier = history.Load
	}
	w.record(e, i, r.Value, err)
}

func (w *worker) get(ctx context.Context, i int) {
	start := proc.Now()
	v, err := w.cache.Get(ctx, Name(i))
	w.record(history.Event{Start: start, End: proc.Now()}, i, v, err)
}

func (w *worker) peek(ctx context.Context, i int) {
	start := proc.Now()
	v, ok := w.cache.Peek(ctx, Name(i))
	if e := (history.Event{Start: start, End: proc.Now()}); ok {
		w.record(e, i, v, nil)
	}
}

func (w *worker) getMany(ctx context.Context, rng *rand.Rand) {
	var names []string
	var keys []int
	for range 5 {
		keys = append(keys, rng.IntN(w.cfg.Keys))
		names = append(names, Name(keys[len(keys)-1]))
	}
	e := history.Event{Start: proc.Now()}
	m, err := w.cache.GetMany(ctx, names)
	e.End = proc.Now()
	for j, i := range keys {
		if v, ok := m[names[j]]; ok {
			w.record(e, i, v, nil)
		} else {
			w.record(e, i, v, err)
		}
	}
}

// record writes down how a read of key i ended, unless it was given up.
func (w *worker) record(e history.Event, i int, v Value, err error) {
	e.Type, e.Key, e.Version = history.Read, uint16(i), v.Version
	switch {
	case errors.Is(err, context.DeadlineExceeded) && e.End-e.Start < int64(patience):
		w.hasty.Add(1)
		return
	case err != nil:
		w.failed("read", err)
		e.Type = history.NoRead
	case v.Key != Name(i):
		w.foreign.Add(1)
	}
	w.events.Add(e)
}
