package codec

import (
	"fmt"
	"reflect"
)

// Expansion limits the memory of a decoded value. Its elements may take at most Expansion times
// the limit of its encoding. Real values need much less. A slice of small numbers takes up to 8
// bytes for each byte of CBOR. A map of short strings to numbers takes about 11 for each byte of
// JSON. Rows of a few fields with a small map in each take about 24. Expansion refuses values
// with a short encoding and a huge decoded form, such as a million nulls in place of structs.
const Expansion = 32

// Bounded is a [Codec] that limits the size of values, by the same rule for encoding and
// decoding. Every codec of this package is Bounded. Use [MarshalWithin] and [UnmarshalWithin],
// which also accept other codecs.
type Bounded interface {
	Codec

	// MarshalWithin is Marshal with a limit. It refuses, with [ErrTooLarge], a value that
	// UnmarshalWithin would refuse for the type into and this limit. That is a value whose
	// encoding has more than limit bytes before compression, or whose elements take more than
	// [Expansion] times that in memory.
	MarshalWithin(v any, into reflect.Type, limit int) ([]byte, error)

	// UnmarshalWithin is Unmarshal with the same limit. It refuses a value before it allocates
	// memory for it. If owned is set, the value may keep data, as with [Owner].
	UnmarshalWithin(data []byte, v any, limit int, owned bool) error
}

var (
	_ Bounded = jsonCodec{}
	_ Bounded = cborCodec{}
	_ Bounded = rawCodec{}
	_ Bounded = (*limited)(nil)
	_ Bounded = (*compressed)(nil)
)

// MarshalWithin returns v encoded by c, if the encoding has at most limit bytes. If c is
// [Bounded], UnmarshalWithin must also accept it for the type into under that limit.
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

// UnmarshalWithin decodes data into v, if MarshalWithin could have written it. For a codec that
// is not [Bounded] it limits only the length of data.
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

// tally counts the items of an encoding for which a decoder may allocate memory.
type tally struct {
	nulls, numbers, texts, lists, dicts int64
	pairs                               int64 // of all dicts
}

// within checks an encoding against a limit. It calls count only if the encoding is long enough
// to exceed the limit.
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
		return fmt.Errorf("%w: %s, %d bytes decode to %d bytes of %v, at most %d", ErrTooLarge, id, len(data), n, into, most)
	}
	return nil
}

// target returns the type that the pointer v points to.
func target(v any) reflect.Type {
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return nil
}

// countJSON counts the items of JSON. The decoder reports invalid JSON.
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
			n.texts-- // it was a name
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

// ends reports whether a byte can follow a number or a word of JSON.
func ends(c byte) bool {
	switch c {
	case ',', ']', '}', ' ', '\n', '\r', '\t', ':', '"', '[', '{':
		return true
	}
	return false
}

// countCBOR counts the items of CBOR. The decoder reports malformed CBOR.
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
		case majorTag: // its content is counted
		default:
			n.numbers++
		}
	}
	return n
}
