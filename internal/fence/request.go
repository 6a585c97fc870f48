package fence

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/lognames"
	"github.com/twofold-go/twofold/invalidate"
)

// Request is what one call invalidates, and how.
type Request struct {
	Scopes []invalidate.Scope // the parts that have a kind
	Hold   time.Duration      // how long they must not be cached; 0: no hold

	Soft bool // end the freshness of what they cover, not its life; not with Hold

	// Removed says that the keys' cells in the remote tier no longer hold a value: the caller has
	// stored its own claim there, which must stay.
	Removed bool

	// Until bounds how long the caller waits for the log, if Config.Wait allows longer. Zero means
	// no further bound.
	Until time.Time

	Again []invalidate.Fence // holds that the log has lost, besides Scopes
}

// NewRequest sorts the parts of a call. It refuses invalid parts and names all of them; its errors
// wrap [invalidate.ErrScope]. Of several holds the longest counts. NewRequest does not keep parts.
func NewRequest(parts ...invalidate.Scope) (Request, error) {
	var r Request
	var bad []error
	r.Scopes = make([]invalidate.Scope, 0, len(parts))
	for _, p := range parts {
		bad = append(bad, p.Validate())
		switch {
		case p.Kind() == 0:
			r.Hold = max(r.Hold, p.Fence().Hold)
		default:
			r.Scopes = append(r.Scopes, p)
		}
	}
	return r, errors.Join(bad...)
}

// NewExpiry is NewRequest for a soft request. It accepts no hold.
func NewExpiry(parts ...invalidate.Scope) (Request, error) {
	r, err := NewRequest(parts...)
	r.Soft = true
	if r.Hold > 0 {
		err = errors.Join(err, fmt.Errorf("%w: Hold(%v) with Expire: stale values stay cached; use Invalidate", invalidate.ErrScope, r.Hold))
	}
	return r, err
}

// Keys returns the keys among the scopes.
func (r Request) Keys() []string {
	var keys []string
	for _, s := range r.Scopes {
		if s.Kind() == invalidate.KindKey {
			keys = append(keys, s.Text())
		}
	}
	return keys
}

// fence returns a fence of one of the scopes as a record of the request carries it.
func (r Request) fence(f invalidate.Fence) invalidate.Fence {
	f.Hold, f.Soft = r.Hold, r.Soft
	return f
}

// Fences returns the fences that records carry for the request.
func (r Request) Fences() []invalidate.Fence {
	fences := make([]invalidate.Fence, 0, len(r.Scopes))
	for _, s := range r.Scopes {
		fences = append(fences, r.fence(s.Fence()))
		if b, ok := s.BuiltFence(); ok {
			fences = append(fences, r.fence(b))
		}
	}
	return fences
}

// Split appends the fences that records carry for the request to those of keys and to the others.
func (r Request) Split(keys, scopes []invalidate.Fence) (_, _ []invalidate.Fence) {
	add := func(f invalidate.Fence) {
		if f.OfKeys() {
			keys = append(keys, f)
		} else {
			scopes = append(scopes, f)
		}
	}
	for _, f := range r.Fences() {
		add(f)
	}
	before := len(keys)
	for _, f := range r.Again {
		add(f)
	}
	if len(keys) > before { // no cell was removed
		scopes = append(scopes, invalidate.All().Fence())
	}
	return keys, scopes
}

// Name adds the names of the scopes.
func (r Request) Name(names lognames.Names) {
	for _, s := range r.Scopes {
		names.Add(s)
	}
}

// Size returns how many scopes the request counts for.
func (r Request) Size() int64 { return int64(len(r.Scopes) + min(len(r.Again), 1)) }

// Distinct sorts fences and drops duplicates.
func Distinct(fs []invalidate.Fence) []invalidate.Fence {
	slices.SortFunc(fs, compareFences)
	return slices.Compact(fs)
}
