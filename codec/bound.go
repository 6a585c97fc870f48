package codec

import (
	"fmt"
	"math"
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

// marshalWithin implements Bounded.
func (r *rules) marshalWithin(v any, into reflect.Type, limit int) ([]byte, error) {
	data, err := r.codec.Marshal(v)
	if err == nil {
		err = r.within(data, into, limit)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// unmarshalWithin implements Bounded.
func (r *rules) unmarshalWithin(data []byte, v any, limit int) error {
	if err := r.within(data, target(v), limit); err != nil {
		return err
	}
	return r.codec.Unmarshal(data, v)
}

// within checks an encoding against a limit. It reads data only if data is long enough to exceed
// the limit.
func (r *rules) within(data []byte, into reflect.Type, limit int) error {
	if len(data) > limit {
		return sizeError(r.codec.ID(), len(data), limit)
	}
	if into == nil || int64(limit) > math.MaxInt64/Expansion {
		return nil
	}
	b, most := r.boundOf(into), Expansion*int64(limit)
	if int64(len(data)) <= most/b.most {
		return nil
	}
	s := sizer{items: r.items(data), most: most}
	if s.items == nil {
		return nil // the decoder will refuse data
	}
	if s.value(b.plan); s.bytes > most {
		return fmt.Errorf("%w: %s, %d bytes decode to more than %d bytes of %v; raise the limit of %d bytes",
			ErrTooLarge, r.codec.ID(), len(data), most, into, limit)
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
