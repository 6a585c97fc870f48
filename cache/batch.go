package cache

import (
	"context"
	"errors"
)

// GetMany returns the values of keys. It takes them from this process, then from the remote tier
// in one round trip per node. It loads the rest by LoadMany in chunks of MaxBatch, or by Load
// side by side. Keys that do not exist are not in the map; that is no error. Each key shares its
// flight with other calls. The policy's SoftTimeout counts once for the call.
//
// A partial result is not a failure. The map holds every value that was found. If some keys
// failed, the error is a [*BatchError] that names them. The map is never nil and belongs to the
// caller. Keys may repeat and are not kept.
func (c Cache[K, V]) GetMany(ctx context.Context, keys []K, opts ...Option) (map[K]V, error) {
	return c.getMany(ctx, keys, 0, opts)
}

func (c Cache[K, V]) getMany(ctx context.Context, keys []K, moment int64, opts []Option) (map[K]V, error) {
	g := gathered[K, V]{vals: make(map[K]V, len(keys))}
	o, err := collect(opts, ofRead)
	switch {
	case c.s == nil:
		return g.vals, errZero("get many")
	case err != nil:
		return g.vals, &Error{Op: "get many", Key: c.v.name, Err: wrongUse(err)}
	}
	called := c.s.t.or(moment)
	if !o.anew {
		called = c.s.t.confirm(ctx, o.within(), called)
	}
	asks, p := g.local(ctx, c, keys, o, called), patience{}
	defer p.stop()
	for tries := 0; len(asks) > 0; tries++ {
		asks = g.round(ctx, asks, &p, tries)
	}
	return g.vals, KeyErrors(g.errs)
}

// KeyErrors returns a [*BatchError] of the errors. A LoadMany returns it to report each key: its
// value is in the map, or its error is here, or it does not exist. An ErrNotFound here also
// means that the key does not exist. KeyErrors returns nil when there are no errors. It keeps
// the map.
func KeyErrors[K comparable](errs map[K]error) error {
	if len(errs) == 0 {
		return nil
	}
	return &BatchError[K]{Errs: errs}
}

// gathered holds the results of a GetMany so far.
type gathered[K comparable, V any] struct {
	vals map[K]V
	errs map[K]error
}

func (g *gathered[K, V]) add(k K, v V, err error) {
	switch {
	case err == nil:
		g.vals[k] = v
	case !errors.Is(err, ErrNotFound):
		if g.errs == nil {
			g.errs = make(map[K]error)
		}
		g.errs[k] = err
	}
}

// local takes what this process holds and returns asks for the other keys.
func (g *gathered[K, V]) local(ctx context.Context, c Cache[K, V], keys []K, o callOpts, called int64) (rest []ask[K, V]) {
	p, anyHit := c.v.policy(), o.anyHit() && !c.s.t.work.Closed()
	seen := map[K]struct{}{} // keys without a value so far
	var none V
	for _, k := range keys {
		if _, again := g.vals[k]; again {
			continue
		}
		if _, again := seen[k]; again {
			continue
		}
		at := c.slot(k)
		if anyHit {
			if it, lease, _ := c.hit(at, k, called); it != nil {
				c.inherit(ctx, it, lease)
				if g.add(k, c.value(it), it.err); it.err != nil {
					seen[k] = struct{}{}
				}
				continue
			}
		}
		seen[k] = struct{}{}
		a := ask[K, V]{called: called}
		if err := a.begin(c, "get many", k, at, nil, &o); err != nil {
			g.add(k, none, err)
			continue
		}
		a.j.p, a.j.many = p, c.s.cfg.LoadMany != nil
		if r, ok, err := a.fromLocal(ctx); ok {
			g.add(k, r.Value, err)
		} else if err := ctx.Err(); err != nil {
			g.add(k, none, a.j.fail(err))
		} else if err := a.j.spell(); err != nil { // it runs the key's code, so before any flight
			g.add(k, none, a.j.fail(err))
		} else {
			rest = append(rest, a)
		}
	}
	return rest
}

// round joins or leads one flight for each ask, and waits for all of them. It returns the asks
// that could not take their outcome. They share the next round, for at most maxReloads tries.
func (g *gathered[K, V]) round(ctx context.Context, asks []ask[K, V], p *patience, tries int) (refused []ask[K, V]) {
	flights, led := make([]*flight[K, V], len(asks)), make([]bool, len(asks))
	defer func() { // all flights, also when Clone panics
		for i, f := range flights {
			if f != nil {
				asks[i].leave(ctx, f)
			}
		}
	}()
	g.join(ctx, asks, flights, led, tries > maxReloads)
	var panicked *PanicError
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
			g.add(a.j.k, r.Value, err)
		default:
			refused = append(refused, *a)
		}
	}
	if panicked != nil {
		panic(panicked)
	}
	return refused
}

// join joins or leads a flight for each ask. An ask that fails gets no flight.
func (g *gathered[K, V]) join(ctx context.Context, asks []ask[K, V], flights []*flight[K, V], led []bool, force bool) {
	var none V
	var runs []run[K, V]
	apart := false
	for i := range asks {
		a := &asks[i]
		f, leads, err := a.join(ctx, a.j.p.Off || force)
		switch {
		case err != nil:
			g.add(a.j.k, none, a.j.fail(err))
			continue
		case leads:
			runs = append(runs, run[K, V]{f: f})
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
				g.add(asks[i].j.k, none, asks[i].j.fail(err))
			}
		}
	}
	rest.launch(ctx)
}
