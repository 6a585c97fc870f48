package engine

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
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

// begin returns the channel that tells when the patience is over; nil if it is over.
func (p *patience) begin(d time.Duration) <-chan time.Time {
	switch {
	case p.over:
		return nil
	case p.timer == nil:
		p.timer = time.NewTimer(d)
	}
	return p.timer.C
}

// wait waits for the flight to end, for the caller's context or for its patience.
func (a *Ask) wait(ctx context.Context, f *flight, p *patience) *outcome {
	for {
		if out := f.Ended(); out != nil {
			return out
		}
		var soft <-chan time.Time
		if a.j.Policy.SoftTimeout > 0 && !a.j.Opts.NoStale {
			soft = p.begin(a.j.Policy.SoftTimeout)
		}
		if p.over {
			if it := a.j.Standing(); a.bridges(it) {
				f.Pin()
				return &outcome{it: it, src: resident.Local, stale: measure.SoftTimeout}
			}
		}
		if ctx.Done() == nil && soft == nil {
			<-f.Done()
			continue
		}
		select {
		case <-f.Done():
		case <-soft:
			p.over = true
		case <-ctx.Done():
			if f.Ended() == nil { // an answer that is ready, too, is not dropped
				return &outcome{err: fault.Ended(ctx)}
			}
		}
	}
}

// stands reports whether an old value may stand in for a load.
func (a *Ask) stands(old *resident.Entry) bool {
	return old != nil && !a.j.Opts.Anew && old.LoadedAt >= a.j.MinLoaded && a.j.View.Clear(old)
}

// bridges reports whether an old value may be served while a load goes on.
func (a *Ask) bridges(old *resident.Entry) bool { return a.stands(old) && old.Bridges(a.j.Core.Now()) }
