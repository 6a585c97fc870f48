package fence

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

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

// fence returns the fence that a record of the request carries of a scope.
func (r Request) fence(s invalidate.Scope) invalidate.Fence {
	return invalidate.Fence{Scope: s, Soft: r.Soft}
}

// Fences returns the fences that records carry for the request.
func (r Request) Fences() []invalidate.Fence {
	fences := make([]invalidate.Fence, 0, len(r.Scopes))
	for _, s := range r.Scopes {
		fences = append(fences, r.fence(s))
	}
	return fences
}

// Split appends the fences that records carry for the request to those of keys and to the others.
func (r Request) Split(keys, scopes []invalidate.Fence) (_, _ []invalidate.Fence) {
	for _, s := range r.Scopes {
		if f := r.fence(s); f.OfKeys() {
			keys = append(keys, f)
		} else {
			scopes = append(scopes, f)
		}
	}
	return keys, scopes
}

// Size returns how many scopes the request counts for.
func (r Request) Size() int64 { return int64(len(r.Scopes)) }

// Distinct sorts fences and drops duplicates.
func Distinct(fs []invalidate.Fence) []invalidate.Fence {
	slices.SortFunc(fs, compareFences)
	return slices.Compact(fs)
}

// compareFences orders fences: hard ones first, then by kind, text and tenant.
func compareFences(a, b invalidate.Fence) int {
	switch {
	case a.Soft != b.Soft:
		if b.Soft {
			return -1
		}
		return 1
	case a.Scope.Kind() != b.Scope.Kind():
		return cmp.Compare(a.Scope.Kind(), b.Scope.Kind())
	case a.Scope.Text() != b.Scope.Text():
		return strings.Compare(a.Scope.Text(), b.Scope.Text())
	}
	return strings.Compare(a.Scope.Tenant(), b.Scope.Tenant())
}
