package peers

import (
	"context"
	"sync"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/dgraph-io/ristretto/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

func objects() []Spec {
	return []Spec{
		{Name: "map+RWMutex", Kind: Table, Open: newMap},
		{Name: "ristretto", Kind: Table, Open: newRistretto},
		{Name: "ristretto, pointers", Kind: Table, Open: newRistrettoPointers},
		{Name: "otter", Kind: Table, Open: newOtter},
		{Name: "theine", Kind: Table, Open: newTheine},
		{Name: "golang-lru", Kind: Table, Open: newLRU},
	}
}

// lockedMap shows the cost of a map and a lock: no bound, no eviction.
type lockedMap struct {
	idle

	mu sync.RWMutex
	m  map[int64]Value
}

func newMap(o Options) Peer {
	return &lockedMap{m: make(map[int64]Value, o.Entries)}
}

func (p *lockedMap) Get(_ context.Context, k *Key) (Value, bool) {
	p.mu.RLock()
	v, ok := p.m[k.ID]
	p.mu.RUnlock()
	return v, ok
}

func (p *lockedMap) Set(_ context.Context, k *Key, v Value) error {
	p.mu.Lock()
	p.m[k.ID] = v
	p.mu.Unlock()
	return nil
}

// ristrettoConfig configures ristretto as its documentation recommends: ten counters for each
// entry, and a cost of one.
func ristrettoConfig[V any](o Options) *ristretto.Config[int64, V] {
	n := int64(max(o.Entries, 1))
	return &ristretto.Config[int64, V]{NumCounters: 10 * n, MaxCost: n, BufferItems: 64, IgnoreInternalCost: true}
}

type ristrettoPeer struct {
	c *ristretto.Cache[int64, Value]
}

func newRistretto(o Options) Peer {
	return ristrettoPeer{setup.Must(ristretto.NewCache(ristrettoConfig[Value](o)))}
}

func (p ristrettoPeer) Get(_ context.Context, k *Key) (Value, bool) { return p.c.Get(k.ID) }
func (p ristrettoPeer) Set(_ context.Context, k *Key, v Value) error {
	p.c.Set(k.ID, v, 1)
	return nil
}
func (p ristrettoPeer) Settle() { p.c.Wait() }
func (p ristrettoPeer) Close()  { p.c.Close() }

// ristrettoPointers holds pointers: a smaller map, but one more memory access to the value.
type ristrettoPointers struct {
	c *ristretto.Cache[int64, *Value]
}

func newRistrettoPointers(o Options) Peer {
	return ristrettoPointers{setup.Must(ristretto.NewCache(ristrettoConfig[*Value](o)))}
}

func (p ristrettoPointers) Get(_ context.Context, k *Key) (Value, bool) {
	v, ok := p.c.Get(k.ID)
	if !ok {
		return Value{}, false
	}
	return *v, true
}

func (p ristrettoPointers) Set(_ context.Context, k *Key, v Value) error {
	p.c.Set(k.ID, &v, 1)
	return nil
}
func (p ristrettoPointers) Settle() { p.c.Wait() }
func (p ristrettoPointers) Close()  { p.c.Close() }

type otterPeer struct{ c *otter.Cache[int64, Value] }

func newOtter(o Options) Peer {
	return otterPeer{setup.Must(otter.New(&otter.Options[int64, Value]{MaximumSize: max(o.Entries, 1)}))}
}

func (p otterPeer) Get(_ context.Context, k *Key) (Value, bool) { return p.c.GetIfPresent(k.ID) }
func (p otterPeer) Set(_ context.Context, k *Key, v Value) error {
	p.c.Set(k.ID, v)
	return nil
}
func (p otterPeer) Settle() { p.c.CleanUp() }
func (p otterPeer) Close()  { p.c.StopAllGoroutines() }

type theinePeer struct{ c *theine.Cache[int64, Value] }

func newTheine(o Options) Peer {
	return theinePeer{setup.Must(theine.NewBuilder[int64, Value](int64(max(o.Entries, 1))).Build())}
}

func (p theinePeer) Get(_ context.Context, k *Key) (Value, bool) { return p.c.Get(k.ID) }
func (p theinePeer) Set(_ context.Context, k *Key, v Value) error {
	p.c.Set(k.ID, v, 1)
	return nil
}
func (p theinePeer) Settle() { p.c.Wait() }
func (p theinePeer) Close()  { p.c.Close() }

type lruPeer struct {
	idle

	c *lru.Cache[int64, Value]
}

func newLRU(o Options) Peer {
	return lruPeer{c: setup.Must(lru.New[int64, Value](max(o.Entries, 1)))}
}

func (p lruPeer) Get(_ context.Context, k *Key) (Value, bool) { return p.c.Get(k.ID) }
func (p lruPeer) Set(_ context.Context, k *Key, v Value) error {
	p.c.Add(k.ID, v)
	return nil
}

func loading() []Spec {
	return []Spec{
		{Name: "otter, loading", Kind: Loading, Loads: true, Open: newOtterLoading},
		{Name: "theine, loading", Kind: Loading, Loads: true, Open: newTheineLoading},
		{Name: "sturdyc", Kind: Loading, Loads: true, Open: newSturdyc},
	}
}

type otterLoading struct {
	otterPeer
	load otter.Loader[int64, Value]
}

func newOtterLoading(o Options) Peer {
	return otterLoading{newOtter(o).(otterPeer), otter.LoaderFunc[int64, Value](o.load)}
}

func (p otterLoading) Get(ctx context.Context, k *Key) (Value, bool) {
	v, err := p.c.Get(ctx, k.ID, p.load)
	return v, err == nil
}

type theineLoading struct {
	c *theine.LoadingCache[int64, Value]
}

func newTheineLoading(o Options) Peer {
	return theineLoading{setup.Must(theine.NewBuilder[int64, Value](int64(max(o.Entries, 1))).BuildWithLoader(
		func(ctx context.Context, id int64) (theine.Loaded[Value], error) {
			v, err := o.load(ctx, id)
			return theine.Loaded[Value]{Value: v, Cost: 1}, err
		}))}
}

func (p theineLoading) Get(ctx context.Context, k *Key) (Value, bool) {
	v, err := p.c.Get(ctx, k.ID)
	return v, err == nil
}

func (p theineLoading) Set(_ context.Context, k *Key, v Value) error {
	p.c.Set(k.ID, v, 1)
	return nil
}
func (p theineLoading) Settle() { p.c.Wait() }
func (p theineLoading) Close()  { p.c.Close() }

// sturdycPeer passes a closure that knows the id, as sturdyc's users must: its keys are strings,
// and its fetch function gets no key.
type sturdycPeer struct {
	idle

	c *sturdyc.Client[Value]
	o Options
}

func newSturdyc(o Options) Peer {
	const shards = 64
	// Each of its shards has its own bound, so it needs room for uneven shards.
	c := sturdyc.New[Value](2*max(o.Entries, 1)+shards*100, shards, 24*time.Hour, 10, sturdyc.WithNoContinuousEvictions())
	return sturdycPeer{c: c, o: o}
}

func (p sturdycPeer) Get(ctx context.Context, k *Key) (Value, bool) {
	v, err := p.c.GetOrFetch(ctx, k.Text, func(ctx context.Context) (Value, error) { return p.o.load(ctx, k.ID) })
	return v, err == nil
}

func (p sturdycPeer) Set(_ context.Context, k *Key, v Value) error {
	p.c.Set(k.Text, v)
	return nil
}
