package peers

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/tier/local"
)

// The plain local tiers show the tiers' part of a hit. Each adapter calls its tier directly,
// because an interface call would be measured as well.

// entryBytes is the charge of an entry in a plain tier that has room for a number of entries.
const entryBytes = 1 << 10

type tierLocal struct{ t *local.Tier }

func newTierLocal(o Options) Peer {
	t := local.New(local.Config{MaxBytes: o.roomy()})
	setup.Check(t.Validate())
	return tierLocal{t}
}

func (p tierLocal) Get(_ context.Context, k *Key) (Value, bool) {
	e, ok := p.t.Get(hashOf(k.ID))
	if !ok {
		return Value{}, false
	}
	return *e.(*Value), true
}

func (p tierLocal) Set(_ context.Context, k *Key, v Value) error {
	p.t.Set(hashOf(k.ID), &v, entryBytes-local.Overhead)
	return nil
}

// clocked reads the clock after each hit, as a cache with lifetimes must. No cache over tier/local
// can be faster. Reading the clock costs more than its own time, because the processor does not
// fetch the next hit's memory before it.
type clocked struct {
	tierLocal
	opened time.Time
}

func newClocked(o Options) Peer {
	return clocked{newTierLocal(o).(tierLocal), time.Now()}
}

func (p clocked) Get(ctx context.Context, k *Key) (Value, bool) {
	v, ok := p.tierLocal.Get(ctx, k)
	return v, ok && time.Since(p.opened) < lifetime
}

func (tierLocal) Settle()  {}
func (p tierLocal) Close() { _ = p.t.Close() }
