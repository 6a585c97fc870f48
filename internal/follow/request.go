package follow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Request is what one call asks for: scopes, and how they are to be
// invalidated.
type Request struct {
	Scopes []invalidate.Scope // what has a kind
	Strict bool               // wait until no process can serve them any more
	Hold   time.Duration      // keep them from being cached for so long; 0: not at all

	Soft bool // end the freshness of what they cover, and not its life; neither Strict nor with Hold

	// Removed says that the remote tier's cells of the keys hold no value any
	// more: the caller has put its own claim there, which must stay.
	Removed bool

	// Until is when the caller waits no longer for the log, where Config.Wait would let it
	// wait longer. Zero: it does not matter.
	Until time.Time
}

// NewRequest sorts the parts of a call. It refuses parts that cannot be used,
// and names all of them; its errors wrap [ErrScope]. Of several holds the
// longest counts. parts is not kept.
func NewRequest(parts ...invalidate.Scope) (Request, error) {
	var r Request
	var bad []error
	r.Scopes = make([]invalidate.Scope, 0, len(parts))
	for _, p := range parts {
		bad = append(bad, p.Validate())
		switch {
		case p == invalidate.Strict:
			r.Strict = true
		case p.Kind() == 0:
			r.Hold = max(r.Hold, p.Fence().Hold)
		default:
			r.Scopes = append(r.Scopes, p)
		}
	}
	return r, errors.Join(bad...)
}

// NewExpiry is NewRequest for a soft one. Nobody waits until what is stale has been
// refreshed, so it takes neither Strict nor a hold.
func NewExpiry(parts ...invalidate.Scope) (Request, error) {
	r, err := NewRequest(parts...)
	r.Soft = true
	if r.Strict {
		err = errors.Join(err, fmt.Errorf("%w: Strict with Expire: what is stale may be served; use Invalidate", invalidate.ErrScope))
	}
	if r.Hold > 0 {
		err = errors.Join(err, fmt.Errorf("%w: Hold(%v) with Expire: what is stale stays cached; use Invalidate", invalidate.ErrScope, r.Hold))
	}
	return r, err
}

// Keys returns the spellings of the keys among the scopes.
func (r Request) Keys() []string {
	var keys []string
	for _, s := range r.Scopes {
		if s.Kind() == invalidate.KindKey {
			keys = append(keys, s.Text())
		}
	}
	return keys
}

// fence returns what a record carries of one of the scopes.
func (r Request) fence(s invalidate.Scope) invalidate.Fence {
	f := s.Fence()
	f.Hold, f.Soft = r.Hold, r.Soft
	return f
}

// Fences returns what records carry of the request.
func (r Request) Fences() []invalidate.Fence {
	fences := make([]invalidate.Fence, len(r.Scopes))
	for i, s := range r.Scopes {
		fences[i] = r.fence(s)
	}
	return fences
}

// fences appends what records carry of the request.
func (r Request) fences(keys, scopes []invalidate.Fence) (_, _ []invalidate.Fence) {
	for _, s := range r.Scopes {
		f := r.fence(s)
		to := &scopes
		if f.OfKeys() {
			to = &keys
		}
		*to = append(*to, f)
	}
	return keys, scopes
}

// distinct sorts fences and drops those said twice.
func distinct(fs []invalidate.Fence) []invalidate.Fence {
	slices.SortFunc(fs, compareFences)
	return slices.Compact(fs)
}
