package logtest

import (
	"context"
	"io"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Validate validates the log inside, if it can be.
func (f *Faulty) Validate() error {
	if v, ok := f.inner.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Close closes the log inside, if it can be.
func (f *Faulty) Close() error {
	if c, ok := f.inner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Bound returns that of the inner log.
func (f *Faulty) Bound() time.Duration { return f.inner.Bound() }

// Sync syncs through the faults set.
func (f *Faulty) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if err := f.enter(ctx, Sync, a); err != nil {
		return invalidate.Page{}, err
	}
	page, err := f.inner.Sync(ctx, at, a)
	return f.leave(ctx, Sync, a, page, err)
}

// Tail waits through the faults set.
func (f *Faulty) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	if err := f.enter(ctx, Tail, invalidate.Append{}); err != nil {
		return invalidate.Page{}, err
	}
	if f.isDeaf() {
		return invalidate.Page{}, sleep(ctx, f.Bound()/4)
	}
	page, err := f.inner.Tail(ctx, at)
	return f.leave(ctx, Tail, invalidate.Append{}, page, err)
}

// enter counts a call and makes it suffer. It returns the error to answer with.
func (f *Faulty) enter(ctx context.Context, op Op, a invalidate.Append) error {
	f.mu.Lock()
	f.calls[op]++
	before := f.before
	f.mu.Unlock()
	if before != nil {
		before(ctx, op, a)
	}
	if err := sleep(ctx, f.fault(op).delay); err != nil {
		return err
	}
	if err := hold(ctx, f.fault(op).hang); err != nil {
		return err
	}
	return f.fault(op).err
}

// leave makes a reply suffer.
func (f *Faulty) leave(
	ctx context.Context, op Op, a invalidate.Append, page invalidate.Page, err error,
) (invalidate.Page, error) {
	f.mu.Lock()
	after := f.after
	f.mu.Unlock()
	if after != nil {
		after(ctx, op, a)
	}
	if err := hold(ctx, f.fault(op).hang); err != nil {
		return invalidate.Page{}, err
	}
	x := f.fault(op)
	switch {
	case x.lost != nil:
		return invalidate.Page{}, x.lost
	case op == Tail && x.err != nil:
		return invalidate.Page{}, x.err
	case op == Tail && f.isDeaf():
		return invalidate.Page{}, err
	case err != nil:
		return page, err
	}
	return f.corrupted(page), nil
}

func (f *Faulty) fault(op Op) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults[op]
}

func (f *Faulty) isDeaf() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deaf
}

func (f *Faulty) corrupted(page invalidate.Page) invalidate.Page {
	f.mu.Lock()
	how := f.corrupt
	f.mu.Unlock()
	if how == nil {
		return page
	}
	return how(page)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hold waits until hang is closed, where there is one, or until ctx ends.
func hold(ctx context.Context, hang <-chan struct{}) error {
	if hang == nil {
		return nil
	}
	select {
	case <-hang:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
