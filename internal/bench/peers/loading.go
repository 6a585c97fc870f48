package peers

import (
	"context"
	"time"

	"github.com/Yiling-J/theine-go"
	"github.com/maypok86/otter/v2"
	"github.com/viccon/sturdyc"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

func loading() []Spec {
	return []Spec{
		{Name: "otter, loading", Kind: Loading, Loads: true, Open: newOtterLoading},
		{Name: "theine, loading", Kind: Loading, Loads: true, Open: newTheineLoading},
		{Name: "sturdyc", Kind: Loading, Loads: true, Open: newSturdyc},
	}
}

type otterLoading struct {
	c    *otter.Cache[int64, Value]
	load otter.Loader[int64, Value]
}

func newOtterLoading(o Options) Peer {
	c := setup.Must(otter.New(&otter.Options[int64, Value]{MaximumSize: max(o.Entries, 1)}))
	return otterLoading{c, otter.LoaderFunc[int64, Value](o.load)}
}

func (p otterLoading) Get(ctx context.Context, k *Key) (Value, bool) {
	v, err := p.c.Get(ctx, k.ID, p.load)
	return v, err == nil
}

func (p otterLoading) Set(_ context.Context, k *Key, v Value) error {
	p.c.Set(k.ID, v)
	return nil
}
func (p otterLoading) Settle() { p.c.CleanUp() }
func (p otterLoading) Close()  { p.c.StopAllGoroutines() }

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
