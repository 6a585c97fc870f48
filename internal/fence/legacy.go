package fence

import (
	"math"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
)

// Hashed is a fence as the tables of this package keep it: by hash. Two scopes with the same hash cause
// extra misses, and no wrong values.
type Hashed struct {
	Kind invalidate.Kind // of the scope
	Hash uint64          // Scope.Hash of it
	Len  int             // of a prefix: its length in bytes, or builtLen
	Part uint16          // of a prefix: which namespaces it may cover, see PartOf; 0 means any
	Soft bool            // what it covers becomes stale, and is not removed
}

// builtLen is the Len of a fence of a prefix that covers only built values: those with a part that has
// the prefix. It is longer than any key.
const builtLen = math.MaxUint16

// HashedOf returns what the tables keep of a fence.
func HashedOf(f invalidate.Fence) Hashed {
	h := Hashed{Kind: f.Scope.Kind(), Hash: f.Scope.Hash(), Soft: f.Soft}
	if h.Kind == invalidate.KindPrefix {
		h.Len, h.Part = len(f.Scope.Text()), PartOf(f.Scope.Text())
	}
	return h
}

// BuiltOf returns a second fence that the tables keep. Only a prefix that does not end with a colon has
// one: with builtLen and the hash of the prefix up to its last colon. Built values need it: they name
// their parts by hashes, of keys and of prefixes that end with a colon.
func BuiltOf(f invalidate.Fence) (h Hashed, ok bool) {
	text := f.Scope.Text()
	n := strings.LastIndexByte(text, ':') + 1
	if f.Scope.Kind() != invalidate.KindPrefix || n == len(text) {
		return Hashed{}, false
	}
	return Hashed{Kind: invalidate.KindPrefix, Hash: xxhash.Sum64String(text[:n]), Len: builtLen, Soft: f.Soft}, true
}

// PartOf returns a hash of the namespace of a prefix, up to its first colon. A process compares it first,
// so a prefix costs the entries of most other namespaces nothing. A prefix that ends before that colon, as
// that of a tenant does, has none: 0.
func PartOf(prefix string) uint16 {
	_, rest, _ := strings.Cut(prefix, ":")
	namespace, _, whole := strings.Cut(rest, ":")
	if !whole {
		return 0
	}
	return uint16(xxhash.Sum64String(namespace)%math.MaxUint16) + 1 //nolint:gosec // fits
}

// Store applies one fence at its position, or at 0 if it has none.
func (f *Fences) Store(s invalidate.Fence, pos invalidate.Position) {
	f.StoreHashed(HashedOf(s), pos)
	if b, ok := BuiltOf(s); ok {
		f.StoreHashed(b, pos)
	}
}
