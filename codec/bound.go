package codec

import (
	"fmt"
	"reflect"
)

// Expansion is how many times its limit a value may take in memory, by the
// elements that its encoding names. The encoding itself is within the limit, so a
// small multiple does for real values: a slice of small numbers takes up to 8
// bytes for each byte of CBOR, a map of short strings to numbers some 11 for each
// byte of JSON, and rows of a few fields with a small map in each some 24. What is refused is a value whose encoding says little and means
// much, such as a million nulls in place of structs.
const Expansion = 32

// Bounded is a [Codec] that holds values to a limit, in both directions by one
// rule. Every codec of this package is one. Use [MarshalWithin] and
// [UnmarshalWithin], which fall back for codecs that are not.
type Bounded interface {
	Codec

	// MarshalWithin is Marshal. It refuses, with [ErrTooLarge], a value that
	// UnmarshalWithin would not take back into the type into, under this limit:
	// one whose encoding has more than limit bytes before compression, or whose
	// elements take more than [Expansion] times that in memory.
	MarshalWithin(v any, into reflect.Type, limit int) ([]byte, error)

	// UnmarshalWithin is Unmarshal and refuses the same, before it allocates for
	// it. With owned, data is the value's to keep, as with [Owner].
	UnmarshalWithin(data []byte, v any, limit int, owned bool) error
}

var (
	_ Bounded = jsonCodec{}
	_ Bounded = cborCodec{}
	_ Bounded = rawCodec{}
	_ Bounded = (*limited)(nil)
	_ Bounded = (*compressed)(nil)
)

// MarshalWithin returns v encoded by c, if it has at most limit bytes and if, with
// a [Bounded] c, it can be read into the type into under that limit.
func MarshalWithin(c Codec, v any, into reflect.Type, limit int) ([]byte, error) {
	if b, ok := c.(Bounded); ok {
		return b.MarshalWithin(v, into, limit)
	}
	data, err := c.Marshal(v)
	if err == nil && len(data) > limit {
		return nil, sizeError(c.ID(), len(data), limit)
	}
	return data, err
}

// UnmarshalWithin decodes data into v, if MarshalWithin would have written it. The
// limit of a codec that is not [Bounded] is on data alone.
func UnmarshalWithin(c Codec, data []byte, v any, limit int, owned bool) error {
	switch b, ok := c.(Bounded); {
	case ok:
		return b.UnmarshalWithin(data, v, limit, owned)
	case len(data) > limit:
		return sizeError(c.ID(), len(data), limit)
	case owned:
		return UnmarshalOwned(c, data, v)
	}
	return c.Unmarshal(data, v)
}

// tally is what an encoding names, by what a decoder may have to allocate for it.
type tally struct {
	nulls, numbers, texts, lists, dicts int64
	pairs                               int64 // of all dicts
}

// within checks an encoding that Marshal wrote, or that is to be read into a type.
// count is asked only if the encoding is large enough to name too much.
func within(id string, data []byte, into reflect.Type, limit int, count func([]byte) tally) error {
	if len(data) > limit {
		return sizeError(id, len(data), limit)
	}
	if into == nil {
		return nil
	}
	w, most := weightsOf(into), Expansion*int64(limit)
	if int64(len(data)) <= most/max(w.most, 1) {
		return nil
	}
	if n := w.of(count(data)); n > most {
		return fmt.Errorf("%w: %s, %d bytes mean %d bytes of %v, at most %d", ErrTooLarge, id, len(data), n, into, most)
	}
	return nil
}

// target returns the type that a pointer to be decoded into points to.
func target(v any) reflect.Type {
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return nil
}

// countJSON counts what JSON names. What is not JSON is for the decoder to refuse.
func countJSON(data []byte) (n tally) {
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			n.texts++
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case ':':
			n.pairs++
			n.texts-- // it was a key
		case '[':
			n.lists++
		case '{':
			n.dicts++
		case 'n':
			n.nulls++
			i += len("ull")
		case 't', 'f', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n.numbers++
			for i+1 < len(data) && !ends(data[i+1]) {
				i++
			}
		}
	}
	return n
}

// ends reports whether a byte stands behind a number or a word of JSON.
func ends(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\n', '\r', '\t', ':', '"', '[', '{':
		return true
	}
	return false
}

// countCBOR counts what CBOR names. What is not well-formed is for the decoder to
// refuse.
func countCBOR(data []byte) (n tally) {
	if cborDec.Wellformed(data) != nil {
		return n
	}
	for len(data) > 0 {
		major, size, arg := cborHead(data)
		first := data[0]
		data = data[size:]
		switch major {
		case majorBytes, majorText:
			n.texts++
			data = data[arg:]
		case majorArray:
			n.lists++
		case majorMap:
			n.dicts++
			n.pairs += int64(arg)
		case majorSimple:
			if first == cborNull || first == cborUndefined {
				n.nulls++
			} else {
				n.numbers++
			}
		case majorTag: // the item behind it counts
		default:
			n.numbers++
		}
	}
	return n
}
