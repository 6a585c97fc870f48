package codec

// within is a codec that limits the bytes of values before compression.
type within interface {
	marshalWithin(v any, limit int) ([]byte, error)
	unmarshalWithin(data []byte, v any, limit int, owned bool) error
}

var (
	_ within = lossy{}
	_ within = (*limited)(nil)
	_ within = (*compressed)(nil)
)

// MarshalWithin returns v encoded by c. It refuses, with [ErrTooLarge], a value whose encoding has
// more than limit bytes before compression.
func MarshalWithin(c Codec, v any, limit int) ([]byte, error) {
	if w, ok := c.(within); ok {
		return w.marshalWithin(v, limit)
	}
	data, err := c.Marshal(v)
	if err == nil && len(data) > limit {
		return nil, sizeError(c.ID(), len(data), limit)
	}
	return data, err
}

// PlainLen returns the length of an encoding before compression, as data gives it. For data that c
// cannot decode, it may be wrong.
func PlainLen(c Codec, data []byte) int {
	for {
		switch w := c.(type) {
		case *compressed:
			return w.plainLen(data)
		case interface{ unwrap() Codec }:
			c = w.unwrap()
		case lossy:
			c = w.Codec
		default:
			return len(data)
		}
	}
}

// UnmarshalWithin decodes data into v. It refuses what MarshalWithin refuses under the same limit,
// before it allocates memory. If owned is set, the value may keep data, as with [Owner]. For a
// codec of another package limit applies to data itself.
func UnmarshalWithin(c Codec, data []byte, v any, limit int, owned bool) error {
	switch w, ok := c.(within); {
	case ok:
		return w.unmarshalWithin(data, v, limit, owned)
	case len(data) > limit:
		return sizeError(c.ID(), len(data), limit)
	case owned:
		return UnmarshalOwned(c, data, v)
	}
	return c.Unmarshal(data, v)
}
