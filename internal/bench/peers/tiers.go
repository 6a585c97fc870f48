package peers

import (
	"context"
	"fmt"

	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/otter"
)

// The local tiers by themselves: what of a hit is their part. Each adapter
// calls its tier directly, as an interface between would be measured, too.

// entryBytes is what an entry is charged in a tier by itself, when room is made
// for a number of entries.
const entryBytes = 1 << 10

type tierLocal struct{ t *local.Tier }

func newTierLocal(o Options) (Peer, error) {
	t := local.New(local.Config{MaxBytes: o.roomy()})
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("peers: tier/local: %w", err)
	}
	return tierLocal{t}, nil
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
func (tierLocal) Settle()  {}
func (p tierLocal) Close() { _ = p.t.Close() }

type tierOtter struct{ t *otter.Tier }

func newTierOtter(o Options) (Peer, error) {
	t := otter.New(otter.Config{MaxBytes: o.roomy()})
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("peers: tier/otter: %w", err)
	}
	return tierOtter{t}, nil
}

func (p tierOtter) Get(_ context.Context, k *Key) (Value, bool) {
	e, ok := p.t.Get(hashOf(k.ID))
	if !ok {
		return Value{}, false
	}
	return *e.(*Value), true
}

func (p tierOtter) Set(_ context.Context, k *Key, v Value) error {
	p.t.Set(hashOf(k.ID), &v, entryBytes-otter.Overhead)
	return nil
}
func (tierOtter) Settle()  {}
func (p tierOtter) Close() { _ = p.t.Close() }
