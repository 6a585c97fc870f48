package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Setting is one value that Set stores.
type Setting struct {
	Job     resident.Job // for the caller to begin
	It      *resident.Entry
	payload remote.Encoded
	size    int64
	keep    bool       // false: only invalidate
	claim   tier.Claim // on its cell
	claimed bool
	gone    bool // its cell no longer holds a value
	written bool // its record is in the log and applied here
	filled  bool // its cell has it, and this process if nothing came since
	err     error
}

// Result returns the caller's error, or nil.
func (s *Setting) Result() error {
	if s.err == nil {
		return nil
	}
	return s.Job.Fail(s.err)
}

// Prepare prepares an entry, which holds the key and the value. The job has begun.
func (s *Setting) Prepare(ctx context.Context, e *resident.Entry) {
	s.Job.Entry = e
	s.Job.Core.All.Inc(measure.InvalidatedKeys)
	if s.It, s.payload, s.size, s.err = prepare(&s.Job); s.err == nil {
		s.err = fault.Ended(ctx) // the value is not stored; the old one is invalidated, as by Delete
	}
	s.keep = s.err == nil && !s.Job.Policy.Off && (s.Job.Policy.NegativeTTL > 0 || !empty(s.It))
}

// prepare makes the entry of a value to set ready, or returns why it cannot be stored.
func prepare(j *resident.Job) (it *resident.Entry, payload remote.Encoded, size int64, err error) {
	it = j.Take(fence.Mark{})
	j.View.Kind.Clone(it)
	if j.View.Kind.Empty(it) {
		it.SetTerms(remote.NeverStale)
	}
	f := resident.NothingSaid
	j.SetTags(it, j.View.Kind.Tags(it), &f)
	if f.BadTag {
		return it, remote.Encoded{}, 0, fmt.Errorf("%w: a tag of the value is empty, longer than %d bytes or not UTF-8", invalidate.ErrScope, invalidate.MaxTagLen)
	}
	if it.Many() {
		j.View.Counts.Inc(measure.FillManyTags)
	}
	if j.Far() != nil {
		payload, err = j.View.Encode(j.View.Value(it), j.Policy.MaxValueBytes)
	}
	size = j.SizeOf(it, payload.Plain)
	if j.Far() == nil && size > int64(j.Policy.MaxValueBytes) {
		err = fmt.Errorf("%w: %d bytes, MaxValueBytes is %d", remote.ErrTooLarge, size, j.Policy.MaxValueBytes)
	}
	return it, payload, size, err
}

// replace fences the key and stores the entry in the same step.
func replace(j *resident.Job, it *resident.Entry, size int64, keep bool) error {
	mu := j.Core.PutsOf(j.Addr)
	mu.Lock()
	defer mu.Unlock()
	keep = keep && j.Opts.Skip&resident.SkipLocal == 0
	j.Core.Fences.Replace(j.Hash, func() {
		if old := j.View.Lookup(j.Addr, j.Same); old != nil {
			old.End()
		}
		if !keep {
			j.Core.Local.Delete(j.Addr)
		}
	})
	if !keep {
		return nil
	}
	date(j, it)
	if !j.PutLocked(it, size) && j.Far() == nil {
		return fmt.Errorf("%w: the local tier has no room for an entry of about %d bytes", remote.ErrTooLarge, j.Cost(it, size))
	}
	return nil
}

// freeze returns the cell of the value, as of a mark that was captured before.
func (s *Setting) freeze(as fence.Mark) (cell []byte, ttl time.Duration, err error) {
	return s.Job.Freeze(s.It, s.payload, s.claim.Nonce, as)
}

// date gives an entry the age of what this process knows now, and returns the mark of that.
func date(j *resident.Job, it *resident.Entry) fence.Mark {
	mark := j.Core.Fences.Capture()
	it.Date(mark)
	it.LoadedHere(j.Core.Now(), 0)
	ttl := cmp.Or(j.Opts.TTL, j.Policy.TTL)
	if empty(it) {
		ttl = j.Policy.NegativeTTL
	}
	it.SetLifetime(it.LoadedAt, lifetimeOf(j, it, ttl), &j.View.InForce().Usual)
	return mark
}

// empty reports whether prepare found the value empty. No other value to set has terms.
func empty(it *resident.Entry) bool { return it.Terms != nil }
