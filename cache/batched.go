package cache

import "context"

// batch is one GetMany: how it began, and the keys that this process could not answer at once. It
// lives on the caller's stack.
type batch struct {
	v      *view
	o      options
	called int64
	past   bool // as of an earlier Moment
	anyHit bool // any value that this process may serve will do
	asks   []ask
	old    refreshes
}

// batch begins a GetMany.
func (v *view) batch(ctx context.Context, moment int64, o *options) batch {
	b := batch{v: v, o: *o, called: v.called(ctx, v.t.or(moment), o), past: moment != 0, anyHit: o.anyHit() && !v.t.work.Closed()}
	if b.o.policy == nil {
		b.o.policy = v.policy() // one for all keys
	}
	return b
}

// hit follows a local hit of the fast path.
func (b *batch) hit(ctx context.Context, it *entry, lease int64, n note) {
	b.v.inherit(ctx, it, lease)
	if n != 0 && !b.past {
		b.v.audit(ctx, it)
	}
}

// ask asks for a key. It reports whether that is done; otherwise run does it.
func (b *batch) ask(ctx context.Context, at uint64, k asked) (r answer, done bool, err error) {
	a := ask{called: b.called, past: b.past}
	if err := a.begin(b.v, "get many", at, nil, &b.o); err != nil {
		return r, true, a.fail(k, err)
	}
	a.j.many = b.v.loadsMany
	if r, ok, err := a.fromLocal(ctx, k.same, &b.old); ok {
		return r, true, err
	}
	a.own(k)
	if err := a.ready(ctx); err != nil {
		return r, true, err
	}
	b.asks = append(b.asks, a)
	return r, false, nil
}

// run fetches and loads the keys that are left, and starts the refreshes of stale ones.
func (b *batch) run(ctx context.Context, give give) {
	b.old.start(ctx)
	if len(b.asks) > 0 {
		b.v.rounds(ctx, b.asks, give)
	}
}
