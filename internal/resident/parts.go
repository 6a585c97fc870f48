package resident

import (
	"context"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// DependOn makes the load under ctx depend on the job's key, whose read gave no value. A key that
// cannot be spelled cannot be invalidated, either.
func (j *Job) DependOn(ctx context.Context) {
	if Loading.Load() != 0 && Running(ctx) != nil && j.Spell() == nil {
		Running(ctx).DependOn(&j.Core.Fills, j.FullKey(), j.View.Prefixes())
	}
}

// Prefixes returns the hashes of all prefixes that end with a colon and that every key of the view
// has.
func (v *View) Prefixes() []uint64 {
	if p := v.stems.Load(); p != nil {
		return *p
	}
	var p []uint64
	for i, c := range []byte(v.Name) {
		if c == ':' {
			p = append(p, xxhash.Sum64String(v.Name[:i+1]))
		}
	}
	p = append(p, xxhash.Sum64String(v.Name+":"))
	v.stems.Store(&p)
	return p
}

// Inherit makes the load under ctx depend on an entry that its loader has just read. The lease
// was read before the entry's fences were checked.
func (v *View) Inherit(ctx context.Context, it *Entry, lease int64) {
	if Loading.Load() != 0 {
		v.inheritInLoad(ctx, it, lease)
	}
}

// inheritInLoad is a separate function: a hit outside of a load makes no call.
//
//go:noinline
func (v *View) inheritInLoad(ctx context.Context, it *Entry, lease int64) {
	if f := Running(ctx); f != nil {
		of := ViewOf(it)
		f.DependOn(&of.Core.Fills, it.FullKey(), of.Prefixes())
		v.Core.handOn(f, it.Rare, it.ReadAt(), lease, it.Expired())
	}
}

// handOn gives a load what a part depends on and the moment at which it was confirmed; see [Fill.TakeOn].
func (t *Core) handOn(f *Fill, d *Rare, readAt, lease int64, expired bool) {
	if t.Follower == nil && len(d.Deps.Tags)+len(d.Keys) == 0 && d.PartsOlder == 0 && !expired {
		return
	}
	at := t.ConfirmedAt(d, readAt, lease)
	if at != Never && !safeguard.Off(safeguard.Parts) {
		at += int64(t.Base.Sub(f.Origin()))
	} else {
		at = Never
	}
	f.TakeOn(d, expired, at)
}

// ConfirmedAt returns the latest moment at which a part is known to have been current. That is when
// it was read from the source, or when the lease was confirmed under which it was checked.
// Without a log, only a part that was built from other parts has such a moment.
func (t *Core) ConfirmedAt(d *Rare, readAt, lease int64) int64 {
	switch {
	case t.Follower == nil && d.PartsOlder == 0:
		return Never
	case t.Follower == nil || lease == 0: // the lease was never confirmed
		return readAt
	}
	return max(lease, readAt)
}
