package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
)

// patience is how long a call may take. haste is how long most reads wait for another caller's slow
// load, so the readers do not all queue behind a few loads.
const (
	patience = 8 * time.Second
	haste    = 100 * time.Millisecond
)

// shortTTL is the TTL of the odd keys, in calls that accept one. These keys exercise stale values
// and refreshes.
var shortTTL = cache.TTL(1500 * time.Millisecond)

// read makes one random reading call. All of them give the same guarantee.
func (w *worker) read(rng *rand.Rand) {
	wait := patience
	if rng.IntN(4) > 0 {
		wait = haste
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	i, level := rng.IntN(w.cfg.Keys), rng.IntN(len(w.levels))
	c := w.levels[level]
	e := history.Event{Level: uint8(level)}
	switch draw := rng.IntN(100); {
	case draw < 60, w.cfg.Soft, w.cfg.Tickets && draw < 82:
		if draw >= 55 && level == 0 {
			e.MaxAge = int64(w.cfg.Bound / 5)
		}
		w.fetch(ctx, e, i)
	case draw < 82:
		e.Start = proc.Now()
		v, err := c.Get(ctx, Name(i))
		w.record(e, i, v, err)
	case draw < 92:
		w.getMany(ctx, e, rng)
	case draw < 98 && !w.cfg.Tickets:
		e.Start = proc.Now()
		if v, ok := c.Peek(ctx, Name(i)); ok {
			w.record(e, i, v, nil)
		}
	case draw < 99:
		if err := c.Expire(ctx, Name(i)); err != nil {
			w.failed("expire", err)
		}
	default:
		if err := c.Refresh(ctx, Name(i)); err != nil {
			w.failed("refresh", err)
		}
	}
}

func (w *worker) fetch(ctx context.Context, e history.Event, i int) {
	var opts []cache.Option
	if i%2 == 1 {
		opts = append(opts, shortTTL)
	}
	if e.MaxAge > 0 {
		opts = append(opts, cache.MaxAge(time.Duration(e.MaxAge)))
	}
	e.Start = proc.Now()
	opts = append(opts, w.tickets()...)
	r, err := w.levels[e.Level].Fetch(ctx, Name(i), nil, opts...)
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

func (w *worker) getMany(ctx context.Context, e history.Event, rng *rand.Rand) {
	var names []string
	var keys []int
	for range 5 {
		keys = append(keys, rng.IntN(w.cfg.Keys))
		names = append(names, Name(keys[len(keys)-1]))
	}
	e.Start = proc.Now()
	m, err := w.levels[e.Level].GetMany(ctx, names, w.tickets()...)
	e.End = proc.Now()
	for j, i := range keys {
		if v, ok := m[names[j]]; ok {
			w.record(e, i, v, nil)
		} else {
			w.record(e, i, v, err)
		}
	}
}

// record records the result of a read of key i, unless the read was given up. If the event has no
// end, it ends now.
func (w *worker) record(e history.Event, i int, v Value, err error) {
	if e.End == 0 {
		e.End = proc.Now()
	}
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
