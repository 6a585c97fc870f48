package codec

import (
	"fmt"
	"maps"
	"slices"
)

// Set finds codecs by id. With it a reader can decode values of several codecs while a fleet
// changes its codec. The zero Set has none. A Set never changes and may be used concurrently and
// copied.
type Set struct{ byID map[string]Codec }

// NewSet returns the set of codecs. A nil codec, an id that is not 1 to 64 bytes of [a-z0-9+._-],
// and a repeated id are [ErrID]. Two compressions of one codec with different sizes have the same
// id, because each reads the values of the other. Keep one of them.
func NewSet(codecs ...Codec) (Set, error) {
	byID := make(map[string]Codec, len(codecs))
	for i, c := range codecs {
		if c == nil {
			return Set{}, fmt.Errorf("%w: codec %d is nil", ErrID, i)
		}
		id := c.ID()
		if !validID(id) {
			return Set{}, fmt.Errorf("%w: codec %d (%T) has an id of %d bytes, want 1 to %d of [a-z0-9+._-]", ErrID, i, c, len(id), maxID)
		}
		if _, dup := byID[id]; dup {
			return Set{}, fmt.Errorf("%w: codec %d repeats %s", ErrID, i, id)
		}
		byID[id] = c
	}
	return Set{byID}, nil
}

// Builtin returns the codecs of this package: [JSON], [CBOR] and [Raw], each plain, with [Snappy]
// and with [Deflate], at the default size. The slice belongs to the caller.
func Builtin() []Codec {
	var all []Codec
	for _, c := range []Codec{JSON, CBOR, Raw} {
		all = append(all, c, Snappy(c, 0), Deflate(c, 0))
	}
	return all
}

// Lookup returns the codec with the id.
func (s Set) Lookup(id string) (Codec, bool) {
	c, ok := s.byID[id]
	return c, ok
}

// IDs returns the ids in the set, sorted. The slice belongs to the caller.
func (s Set) IDs() []string { return slices.Sorted(maps.Keys(s.byID)) }

// maxID is the space for an id in a cell's header.
const maxID = 64

func validID(id string) bool {
	if len(id) == 0 || len(id) > maxID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
