package resident

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/invalidate"
)

// Invalidate invalidates everything that the scopes cover.
func (t *Core) Invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	return t.invalidate(ctx, t.defaults().RemoteTimeout, scopes...)
}

// DeleteAll invalidates what the scopes cover, within the view's limits.
func (v *View) DeleteAll(ctx context.Context, scopes ...invalidate.Scope) error {
	if v.Err != nil {
		return v.Err
	}
	return v.Core.invalidate(ctx, v.Policy().RemoteTimeout, scopes...)
}

func (t *Core) invalidate(ctx context.Context, timeout time.Duration, scopes ...invalidate.Scope) error {
	if t.Work.Closed() {
		return fault.ErrClosed
	}
	r, err := fence.NewRequest(scopes...)
	if err != nil {
		return err
	}
	return t.request(ctx, timeout, r)
}

func (t *Core) request(ctx context.Context, timeout time.Duration, r fence.Request) error {
	ctx, end := t.Seen.InvalidateStart(ctx, len(r.Scopes))
	err := t.Spread(ctx, timeout, r)
	t.countScopes(r)
	end(err)
	return err
}

// Spread applies a request here and sends it to the other processes, if there is a way.
func (t *Core) Spread(ctx context.Context, timeout time.Duration, r fence.Request) error {
	if t.Follower != nil {
		err := t.Follower.Invalidate(ctx, r)
		t.Told(r)
		return Unreached(err)
	}
	// The cells go first: a fetch that begins after the fence must not find a cell that the
	// fence covers.
	var err error
	if !r.Removed && !r.Soft {
		err = Unreached(t.remove(ctx, timeout, r.Keys()))
	}
	t.Fences.Apply(r)
	t.Told(r)
	return err
}

func (t *Core) countScopes(r fence.Request) {
	for _, s := range r.Scopes {
		if r.Soft {
			t.All.Inc(measure.ScopesExpired)
		} else {
			t.All.Inc(measure.InvalidatedKeys + measure.Stat(s.Kind()-invalidate.KindKey))
		}
	}
}
