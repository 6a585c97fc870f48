package fence

import (
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// Request is what one call invalidates, and how.
type Request struct {
	Scopes []invalidate.Scope
	Soft   bool // end the freshness of what they cover, not its life

	// Removed says that the keys' cells in the remote tier no longer hold a value: the caller has
	// stored its own claim there, which must stay.
	Removed bool

	// Until bounds how long the caller waits for the log, if Config.Wait allows longer. Zero means
	// no further bound.
	Until time.Time
}

// NewRequest refuses scopes that are not valid and names all of them; its errors wrap
// [invalidate.ErrScope]. It does not keep scopes.
func NewRequest(scopes ...invalidate.Scope) (Request, error) {
	var bad []error
	for _, s := range scopes {
		bad = append(bad, s.Validate())
	}
	return Request{Scopes: slices.Clone(scopes)}, errors.Join(bad...)
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
	f.Soft = r.Soft
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
	for _, f := range r.Fences() {
		if f.OfKeys() {
			keys = append(keys, f)
		} else {
			scopes = append(scopes, f)
		}
	}
	return keys, scopes
}

// Name adds the names of the scopes.
func (r Request) Name(names logwire.Names) {
	for _, s := range r.Scopes {
		names.Add(s)
	}
}

// Size returns how many scopes the request counts for.
func (r Request) Size() int64 { return int64(len(r.Scopes)) }

// Distinct sorts fences and drops duplicates.
func Distinct(fs []invalidate.Fence) []invalidate.Fence {
	slices.SortFunc(fs, compareFences)
	return slices.Compact(fs)
}
