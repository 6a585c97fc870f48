package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/store"
)

// Batch is one GetMany: how it began, and the keys that this process could not answer at once. It
// lives on the caller's stack.
type Batch struct {
	v      *store.View
	o      store.Options
	Called int64
	past   bool // as of an earlier Moment
	AnyHit bool // any value that this process may serve will do
	asks   []Ask
	old    refreshes
}

// NewBatch begins a GetMany.
func NewBatch(ctx context.Context, v *store.View, moment int64, o *store.Options) Batch {
	b := Batch{v: v, o: *o, Called: called(ctx, v, v.Core.Or(moment), o), past: moment != 0, AnyHit: o.AnyHit() && !v.Core.Work.Closed()}
	if b.o.Policy == nil {
		b.o.Policy = v.Policy() // one for all keys
	}
	return b
}

// Hit follows a local hit of the fast path.
func (b *Batch) Hit(ctx context.Context, it *entry.Entry, lease int64, n store.Note) {
	b.v.Inherit(ctx, it, lease)
	if n != 0 && !b.past {
		auditNoted(ctx, b.v, it)
	}
}

// Ask asks for a key. It reports whether that is done; otherwise run does it.
func (b *Batch) Ask(ctx context.Context, at uint64, k Asked) (r Answer, done bool, err error) {
	a := Ask{called: b.Called, past: b.past}
	if err := a.begin(b.v, "get many", at, nil, &b.o); err != nil {
		return r, true, a.fail(k, err)
	}
	a.j.Many = b.v.LoadsMany
	if r, ok, err := a.fromLocal(ctx, k.Same, &b.old); ok {
		return r, true, err
	}
	a.own(k)
	if err := a.over(ctx, Asked{}); err != nil {
		return r, true, err
	}
	if err := a.j.Spell(); err != nil { // it runs the key's code, so before any flight
		return r, true, a.j.Fail(err)
	}
	b.asks = append(b.asks, a)
	return r, false, nil
}

// Run fetches and loads the keys that are left, and starts the refreshes of stale ones.
func (b *Batch) Run(ctx context.Context, give give) {
	b.old.start(ctx)
	if len(b.asks) > 0 {
		rounds(ctx, b.v, b.asks, give)
	}
}

// give hands the answer for one key of a GetMany to its caller. The entry holds the key.
type give func(e *entry.Entry, r *Answer, err error)

// rounds fetches and loads the keys of asks, in parts of at most MaxFlights keys.
func rounds(ctx context.Context, v *store.View, asks []Ask, give give) {
	var p patience
	defer p.stop()
	for n := wave(v, len(asks)); len(asks) > 0; asks = asks[min(n, len(asks)):] {
		wave := asks[:min(n, len(asks))]
		for tries := 0; len(wave) > 0; tries++ {
			wave = round(ctx, wave, &p, tries, give)
		}
	}
}

// wave returns how many of n keys one GetMany fetches or loads at a time. A call that needs more
// than MaxFlights takes half of them, and leaves the rest to other calls.
func wave(v *store.View, n int) int {
	if most := v.Core.Config.MaxFlights; n > most {
		return max(most/2, 1)
	}
	return max(n, 1)
}

// round joins or leads one flight for each ask, and waits for all of them. It returns the asks
// that could not take their outcome. They share the next round, for at most maxReloads tries.
func round(ctx context.Context, asks []Ask, p *patience, tries int, give give) (refused []Ask) {
	flights, led := make([]*flight, len(asks)), make([]bool, len(asks))
	defer func() { // all flights, also when Clone panics
		for i, f := range flights {
			if f != nil {
				asks[i].leave(ctx, f)
			}
		}
	}()
	joinAll(ctx, asks, flights, led, tries > maxReloads, give)
	var panicked error
	for i, f := range flights {
		if f == nil {
			continue
		}
		a := &asks[i]
		out := a.wait(ctx, f, p)
		switch {
		case out.panicked != nil:
			panicked = out.panicked
		case led[i] || a.accepts(f, out):
			r, err := a.deliver(ctx, f, out, led[i])
			give(a.j.Entry, &r, err)
		default:
			refused = append(refused, *a)
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return refused
}

// joinAll joins or leads a flight for each ask. An ask that fails gets no flight.
func joinAll(ctx context.Context, asks []Ask, flights []*flight, led []bool, force bool, give give) {
	var runs []run
	apart := false
	for i := range asks {
		a := &asks[i]
		f, leads, err := a.join(ctx, Asked{}, a.j.Policy.Off || force)
		switch {
		case err != nil:
			give(a.j.Entry, &Answer{}, a.j.Fail(err))
			continue
		case leads:
			runs = append(runs, run{f: f})
			apart = apart || a.apart()
		default:
			a.follow(ctx, f)
		}
		flights[i], led[i] = f, leads
	}
	if len(runs) == 0 {
		return
	}
	rest := lead(ctx, runs, apart)
	if rest == nil {
		return
	}
	if err := ctx.Err(); err != nil { // before the party checks whether a caller waits
		for i, f := range flights {
			if led[i] && f.Ended() == nil {
				asks[i].leave(ctx, f)
				flights[i] = nil
				give(asks[i].j.Entry, &Answer{}, asks[i].j.Fail(err))
			}
		}
	}
	rest.launch()
}
