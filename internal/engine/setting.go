package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/wire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Setting is one value that Set stores.
type Setting struct {
	j       Job
	It      *Entry
	payload wire.Encoded
	size    int64
	keep    bool       // false: only invalidate
	held    bool       // a hold keeps it out of the remote tier
	claim   tier.Claim // on its cell
	claimed bool
	gone    bool // its cell no longer holds a value
	written bool // its record is in the log and applied here
	filled  bool // its cell has it, and this process if nothing came since
	err     error
}

// Job returns the setting's job, for the caller to begin.
func (s *Setting) Job() *Job { return &s.j }

// Result returns the caller's error, or nil.
func (s *Setting) Result() error {
	if s.err == nil {
		return nil
	}
	return s.j.fail(s.err)
}

// Prepare prepares an entry, which holds the key and the value. The job has begun.
func (s *Setting) Prepare(ctx context.Context, e *Entry) {
	s.j.e = e
	s.j.t.all.Inc(measure.InvalidatedKeys)
	if s.It, s.payload, s.size, s.err = s.j.prepare(); s.err == nil {
		s.err = ctx.Err() // the value is not stored; the old one is invalidated, as by Delete
	}
	s.keep = s.err == nil && !s.j.p.Off && (s.j.p.NegativeTTL > 0 || !s.It.empty())
	s.held = s.j.t.fences.Holding(s.j.hash, s.j.FullKey(), &s.It.Deps)
}

// prepare makes the entry of a value to set ready, or returns why it cannot be stored.
func (j *Job) prepare() (it *Entry, payload wire.Encoded, size int64, err error) {
	it = j.take(fence.Mark{})
	j.v.kind.Clone(it)
	if j.v.kind.Empty(it) {
		it.agree(wire.NeverStale)
	}
	f := nothingSaid
	j.setTags(it, j.v.kind.Tags(it), &f)
	if f.badTag {
		return it, wire.Encoded{}, 0, fmt.Errorf("%w: a tag of the value is empty, longer than %d bytes or not UTF-8", invalidate.ErrScope, invalidate.MaxTagLen)
	}
	if it.many() {
		j.v.counts.Inc(measure.FillManyTags)
	}
	size = j.sizeOf(it)
	switch {
	case j.far() != nil:
		payload, err = j.v.Encode(j.v.kind.Value(it), j.p.MaxValueBytes)
	case size > int64(j.p.MaxValueBytes):
		err = fmt.Errorf("%w: %d bytes, MaxValueBytes is %d", wire.ErrTooLarge, size, j.p.MaxValueBytes)
	}
	return it, payload, size, err
}

// replace fences the key and stores the item in the same step.
func (j *Job) replace(ctx context.Context, it *Entry, size int64, keep bool) error {
	j.t.fences.Await(ctx) // before the lock
	mu := j.t.putsOf(j.at)
	mu.Lock()
	defer mu.Unlock()
	j.t.fences.FenceKey(j.hash)
	if !keep || j.o.SkipLocal {
		j.t.local.Delete(j.at)
		return nil
	}
	j.date(it)
	if !j.putLocked(it, size) && j.far() == nil {
		return fmt.Errorf("%w: the local tier has no room for an entry of about %d bytes", wire.ErrTooLarge, j.cost(it, size))
	}
	return nil
}

// empty reports whether prepare found the item's value empty. No other value to set has terms.
func (it *Entry) empty() bool { return it.terms != nil }

// date gives an item the age of what this process knows now, and returns the mark of that.
func (j *Job) date(it *Entry) fence.Mark {
	mark := j.t.fences.Capture()
	it.born.Store(mark.Tick)
	it.loadedAt, it.here = j.t.now(), true
	ttl := cmp.Or(j.o.TTL, j.p.TTL)
	if it.empty() {
		ttl = j.p.NegativeTTL
	}
	it.live(it.loadedAt, j.lifetime(it, ttl))
	return mark
}
