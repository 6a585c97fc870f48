package engine

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/measure"
)

// patience is how long a call waits before it looks for an old value to serve: the policy's
// SoftTimeout, once for all its keys. It begins with the first wait.
type patience struct {
	timer *time.Timer
	over  bool
}

func (p *patience) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// wait waits for the flight to end, for the caller's context or for its patience.
func (a *Ask) wait(ctx context.Context, f *flight, p *patience) *outcome {
	if out := f.Ended(); out != nil {
		return out
	}
	if a.j.Policy.SoftTimeout > 0 && !a.j.Opts.NoStale {
		if p.timer == nil {
			p.timer = time.NewTimer(a.j.Policy.SoftTimeout)
		}
		return a.waitOrServe(ctx, f, p)
	}
	if ctx.Done() != nil {
		return a.waitOrServe(ctx, f, nil)
	}
	<-f.Done()
	return f.Ended()
}

// waitOrServe is wait for a caller with a context that can end, or with a SoftTimeout.
func (a *Ask) waitOrServe(ctx context.Context, f *flight, p *patience) *outcome {
	var soft <-chan time.Time
	if p != nil && !p.over {
		soft = p.timer.C
	}
	if p != nil && p.over {
		if it := a.j.Standing(); a.bridges(it) {
			f.Pin()
			return &outcome{it: it, src: entry.Local, stale: measure.SoftTimeout}
		}
	}
	select {
	case <-f.Done():
		return f.Ended()
	case <-soft:
		p.over = true
		return a.waitOrServe(ctx, f, p)
	case <-ctx.Done():
		// Both may be ready. An answer that is ready is not dropped.
		if out := f.Ended(); out != nil {
			return out
		}
		return &outcome{err: ctx.Err()}
	}
}

// stands reports whether an old value may stand in for a load.
func (a *Ask) stands(old *entry.Entry) bool {
	return old != nil && !a.j.Opts.Anew && old.LoadedAt >= a.j.MinLoaded && a.j.View.Clear(old)
}

// bridges reports whether an old value may be served while a load goes on.
func (a *Ask) bridges(old *entry.Entry) bool { return a.stands(old) && old.Bridges(a.j.Core.Now()) }
