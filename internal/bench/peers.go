package bench

import (
	"fmt"
	"sync"

	"github.com/dgraph-io/ristretto/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"

	"github.com/twofold-go/twofold/tier/local"
)

// entryBytes is what one value costs in the tier under test, which is bounded
// by bytes; the peers are bounded by their number of entries.
const entryBytes = 1 << 10

// Value is what the caches hold: a pointer, as a typed cache would.
type Value struct{ Key uint64 }

// Peer is one cache, cut down to what all of them have.
type Peer interface {
	// Get returns the value last Set for key, or nil.
	Get(key uint64) *Value
	// Set keeps v for key, as far as the cache wants to.
	Set(key uint64, v *Value)
	// Settle waits until what was Set can be found, where that takes time.
	Settle()
	// Close ends what the cache has started.
	Close()
}

// Peers makes one of each cache, with room for n entries, by name.
var Peers = map[string]func(n int) (Peer, error){
	"twofold-local": newTwofold,
	"ristretto":     newRistretto,
	"otter":         newOtter,
	"golang-lru":    newLRU,
	"map":           func(int) (Peer, error) { return &lockedMap{m: make(map[uint64]*Value)}, nil },
}

type twofold struct{ t *local.Tier }

func newTwofold(n int) (Peer, error) {
	t := local.New(local.Config{MaxBytes: int64(n) * entryBytes})
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("room for %d entries: %w", n, err)
	}
	return twofold{t}, nil
}

func (p twofold) Get(key uint64) *Value {
	e, ok := p.t.Get(key)
	if !ok {
		return nil
	}
	return e.(*Value)
}

// Set leaves room for what the tier adds to each cost.
func (p twofold) Set(key uint64, v *Value) { p.t.Set(key, v, entryBytes-local.Overhead) }
func (twofold) Settle()                    {}
func (p twofold) Close()                   { _ = p.t.Close() }

type ristrettoPeer struct {
	c *ristretto.Cache[uint64, *Value]
}

func newRistretto(n int) (Peer, error) {
	c, err := ristretto.NewCache(&ristretto.Config[uint64, *Value]{
		NumCounters: int64(10 * n), MaxCost: int64(n), BufferItems: 64, IgnoreInternalCost: true,
	})
	return ristrettoPeer{c}, err
}

func (p ristrettoPeer) Get(key uint64) *Value {
	v, _ := p.c.Get(key)
	return v
}
func (p ristrettoPeer) Set(key uint64, v *Value) { p.c.Set(key, v, 1) }
func (p ristrettoPeer) Settle()                  { p.c.Wait() }
func (p ristrettoPeer) Close()                   { p.c.Close() }

type otterPeer struct {
	c *otter.Cache[uint64, *Value]
}

func newOtter(n int) (Peer, error) {
	c, err := otter.New(&otter.Options[uint64, *Value]{MaximumSize: n})
	return otterPeer{c}, err
}

func (p otterPeer) Get(key uint64) *Value {
	v, _ := p.c.GetIfPresent(key)
	return v
}
func (p otterPeer) Set(key uint64, v *Value) { p.c.Set(key, v) }
func (p otterPeer) Settle()                  { p.c.CleanUp() }
func (p otterPeer) Close()                   { p.c.StopAllGoroutines() }

type lruPeer struct{ c *lru.Cache[uint64, *Value] }

func newLRU(n int) (Peer, error) {
	c, err := lru.New[uint64, *Value](n)
	return lruPeer{c}, err
}

func (p lruPeer) Get(key uint64) *Value {
	v, _ := p.c.Get(key)
	return v
}
func (p lruPeer) Set(key uint64, v *Value) { p.c.Add(key, v) }
func (lruPeer) Settle()                    {}
func (lruPeer) Close()                     {}

// lockedMap is what a map and a lock cost: no bound, no eviction.
type lockedMap struct {
	mu sync.RWMutex
	m  map[uint64]*Value
}

func (p *lockedMap) Get(key uint64) *Value {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.m[key]
}

func (p *lockedMap) Set(key uint64, v *Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.m[key] = v
}
func (*lockedMap) Settle() {}
func (*lockedMap) Close()  {}
