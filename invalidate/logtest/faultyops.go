package logtest

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
)

// Validate validates the inner log.
func (f *Faulty) Validate() error { return f.inner.Validate() }

// Open opens the inner log.
func (f *Faulty) Open(h invalidate.Hooks) { f.inner.Open(h) }

// Server returns the server of the inner log.
func (f *Faulty) Server() string { return f.inner.Server() }

// Close closes the inner log.
func (f *Faulty) Close() error { return f.inner.Close() }

// Bound returns the Bound of the inner log.
func (f *Faulty) Bound() time.Duration { return f.inner.Bound() }

// Sync calls the inner Sync, with the faults that are set.
func (f *Faulty) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if err := f.enter(ctx, Sync, a); err != nil {
		return invalidate.Page{}, err
	}
	page, err := f.inner.Sync(ctx, at, a)
	return f.leave(ctx, Sync, a, page, err)
}

// Tail calls the inner Tail, with the faults that are set.
func (f *Faulty) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	if err := f.enter(ctx, Tail, invalidate.Append{}); err != nil {
		return invalidate.Page{}, err
	}
	if f.deaf.Get() {
		return invalidate.Page{}, fault.Sleep(ctx, f.Bound()/4)
	}
	page, err := f.inner.Tail(ctx, at)
	return f.leave(ctx, Tail, invalidate.Append{}, page, err)
}

// enter counts a call and applies the faults before it. It returns the error to answer with.
func (f *Faulty) enter(ctx context.Context, op Op, a invalidate.Append) error {
	f.ops.Enter(op)
	if before := f.before.Get(); before != nil {
		before(ctx, op, a)
	}
	if err := fault.Sleep(ctx, f.ops.Now(op).Delay); err != nil {
		return err
	}
	if err := f.ops.Now(op).Hang(ctx); err != nil {
		return err
	}
	return f.ops.Now(op).Err
}

// leave applies the faults to a reply.
func (f *Faulty) leave(
	ctx context.Context, op Op, a invalidate.Append, page invalidate.Page, err error,
) (invalidate.Page, error) {
	if after := f.after.Get(); after != nil {
		after(ctx, op, a)
	}
	if err := f.ops.Now(op).Hang(ctx); err != nil {
		return invalidate.Page{}, err
	}
	x, how := f.ops.Now(op), f.corrupt.Get()
	switch {
	case x.Lost != nil:
		return invalidate.Page{}, x.Lost
	case op == Tail && x.Err != nil:
		return invalidate.Page{}, x.Err
	case op == Tail && f.deaf.Get():
		return invalidate.Page{}, err
	case err == nil && how != nil:
		return how(page), nil
	}
	return page, err
}
