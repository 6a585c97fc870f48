package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/resident"
)

// Batch is one GetMany: how it began, and the keys that this process could not answer from its own
// entries. It lives on the caller's stack.
type Batch struct {
	v      *resident.View
	o      resident.Options
	Called int64
	AnyHit bool // any value that this process may serve will do
	asks   []Ask
	old    refreshes
	met    [32]uint64 // a bit for each slot so far
}

// Again reports whether the key at a slot may have come before in this call. Most keys need no look-up in a
// map to show that they have not.
func (b *Batch) Again(at uint64) bool {
	word, bit := &b.met[at>>6%32], uint64(1)<<(at%64)
	again := *word&bit != 0
	*word |= bit
	return again
}

// NewBatch begins a GetMany.
func NewBatch(ctx context.Context, v *resident.View, o *resident.Options) Batch {
	b := Batch{v: v, o: *o, Called: called(ctx, v, v.Core.Now(), o), AnyHit: o.AnyHit() && !v.Core.Work.Closed()}
	if b.o.Policy == nil {
		b.o.Policy = v.Policy() // one for all keys
	}
	return b
}

// Hit follows a local hit of the fast path.
func (b *Batch) Hit(ctx context.Context, it *resident.Entry, lease int64, n resident.Note) {
	b.v.Inherit(ctx, it, lease)
	if n != 0 {
		sampled(ctx, b.v, it)
	}
}

// Ask asks for a key. It reports whether that is done; otherwise Run does it.
func (b *Batch) Ask(ctx context.Context, at uint64, k Asked) (r Answer, done bool, err error) {
	a := Ask{called: b.Called}
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

// Run fetches and loads the keys that are left, and starts the refreshes of stale ones. It gives the
// answer for each of these keys to its caller. The entry holds the key.
func (b *Batch) Run(ctx context.Context, give func(e *resident.Entry, r Answer, err error)) {
	b.old.start(ctx)
	if len(b.asks) == 0 {
		return
	}
	asks := make([]*Ask, len(b.asks))
	for i := range asks {
		asks[i] = &b.asks[i]
	}
	var p patience
	defer p.stop()
	for n := wave(b.v, len(asks)); len(asks) > 0; asks = asks[min(n, len(asks)):] {
		wave := asks[:min(n, len(asks))]
		rounds(ctx, wave, Asked{}, &p, func(i int, r Answer, err error) { give(wave[i].j.Entry, r, err) })
	}
}

// wave returns how many of n keys one GetMany fetches or loads at a time. A call that needs more
// than MaxFlights takes half of them, and leaves the rest to other calls.
func wave(v *resident.View, n int) int {
	if most := v.Core.Config.MaxFlights; n > most {
		return max(most/2, 1)
	}
	return n
}
