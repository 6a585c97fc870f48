package codec

import (
	"encoding/binary"
	"fmt"
)

// DefaultMinSize is the size from which values are compressed by default. For smaller values
// compression takes more time than it saves.
const DefaultMinSize = 4 << 10

// Snappy returns c with its output compressed in Snappy's block format. That adds about a third
// to the time that JSON takes. The id is c's with "+snappy".
//
// Values of fewer than minSize bytes are not compressed, and neither are values that would not
// get smaller. Zero means [DefaultMinSize]. Below zero, Snappy tries to compress every value. The
// choice is recorded with each value, so minSize can change at any time.
//
// The output depends only on the output of c. For example, Snappy of [Raw], given the bytes of c,
// writes the same as Snappy of c.
func Snappy(c Codec, minSize int) Codec { return compress(c, snappyBlock{}, minSize) }

// Deflate returns c with its output compressed by DEFLATE (RFC 1951). The id is c's with
// "+deflate". It takes about ten times as long to compress as [Snappy], and its output is
// smaller. For minSize see Snappy.
func Deflate(c Codec, minSize int) Codec { return compress(c, deflate{}, minSize) }

// Limit returns c with a limit: it refuses, with [ErrTooLarge], to encode or decode a value whose
// encoding has more than n bytes before compression. Zero or less means [MaxDecoded]. The id
// stays the same. Without Limit, a compressed codec has the limit MaxDecoded, and any other codec
// has none.
func Limit(c Codec, n int) Codec {
	if n <= 0 {
		n = MaxDecoded
	}
	switch c := c.(type) {
	case *compressed:
		limited := *c
		limited.limit = n
		return &limited
	case lossy: // the codec inside may compress
		return lossy{Limit(c.Codec, n)}
	}
	return &limited{c, n}
}

type limited struct {
	Codec
	limit int
}

func (c *limited) unwrap() Codec { return c.Codec }

func (c *limited) Marshal(v any) ([]byte, error) {
	data, err := c.Codec.Marshal(v)
	if err == nil && len(data) > c.limit {
		return nil, sizeError(c.ID(), len(data), c.limit)
	}
	return data, err
}

func (c *limited) marshalWithin(v any, limit int) ([]byte, error) {
	return MarshalWithin(c.Codec, v, min(limit, c.limit))
}

func (c *limited) unmarshalWithin(data []byte, v any, limit int, owned bool) error {
	return UnmarshalWithin(c.Codec, data, v, min(limit, c.limit), owned)
}

func (c *limited) Unmarshal(data []byte, v any) error {
	if len(data) > c.limit {
		return sizeError(c.ID(), len(data), c.limit)
	}
	return c.Codec.Unmarshal(data, v)
}

// The format of a compressed codec: one tag byte, then
//
//	0  the inner codec's bytes
//	1  the length of these as an unsigned varint, then the compressed bytes
//
// With the length, a reader can refuse the value or allocate exactly, before it decompresses.
// Each compressed byte can expand only to ratio bytes, so a false length costs no more than a
// true one could.
const (
	tagPlain      = 0
	tagCompressed = 1
)

// packer is a compression format.
type packer interface {
	name() string

	// pack appends the compressed src to dst. If compression does not help, it may stop and
	// return a dst that has grown by len(src) or more.
	pack(dst, src []byte) []byte

	// unpack fills dst exactly, or returns an error.
	unpack(dst, src []byte) error

	// ratio is an upper bound for the bytes that one compressed byte unpacks to.
	ratio() int
}

type compressed struct {
	inner Codec
	pack  packer
	id    string
	min   int
	limit int
}

func compress(c Codec, p packer, minSize int) Codec {
	if minSize == 0 {
		minSize = DefaultMinSize
	}
	return &compressed{inner: c, pack: p, id: c.ID() + "+" + p.name(), min: minSize, limit: MaxDecoded}
}

func (c *compressed) ID() string { return c.id }

func (c *compressed) unwrap() Codec { return c.inner }

func (c *compressed) Marshal(v any) ([]byte, error) {
	plain, own := v.([]byte)
	if !own || c.inner != Raw { // Raw would make a copy, and packed makes one
		var err error
		if plain, err = c.inner.Marshal(v); err != nil {
			return nil, err
		}
	}
	if len(plain) > c.limit {
		return nil, sizeError(c.id, len(plain), c.limit)
	}
	return c.packed(plain), nil
}

func (c *compressed) marshalWithin(v any, limit int) ([]byte, error) {
	limit = min(limit, c.limit)
	plain, err := MarshalWithin(c.inner, v, limit)
	if err != nil {
		return nil, err
	}
	if len(plain) > limit { // inner compresses, too, and does not count its tag byte
		return nil, sizeError(c.id, len(plain), limit)
	}
	return c.packed(plain), nil
}

// packed returns the stored form of the inner codec's bytes.
func (c *compressed) packed(plain []byte) []byte {
	if len(plain) >= c.min {
		out := binary.AppendUvarint([]byte{tagCompressed}, uint64(len(plain)))
		if out = c.pack.pack(out, plain); len(out) <= len(plain) {
			return out
		}
	}
	return append(append(make([]byte, 0, 1+len(plain)), tagPlain), plain...)
}

var _ Owner = (*compressed)(nil)

func (c *compressed) Unmarshal(data []byte, v any) error {
	return c.unmarshal(data, v, false)
}

// UnmarshalOwned implements [Owner].
func (c *compressed) UnmarshalOwned(data []byte, v any) error {
	return c.unmarshal(data, v, true)
}

func (c *compressed) unmarshalWithin(data []byte, v any, limit int, owned bool) error {
	plain, own, err := c.plain(data, min(limit, c.limit))
	if err != nil {
		return err
	}
	return UnmarshalWithin(c.inner, plain, v, min(limit, c.limit), own || owned)
}

func (c *compressed) unmarshal(data []byte, v any, owned bool) error {
	plain, own, err := c.plain(data, c.limit)
	switch {
	case err != nil:
		return err
	case own || owned:
		return UnmarshalOwned(c.inner, plain, v)
	}
	return c.inner.Unmarshal(plain, v)
}

// plainLen returns the length of the inner codec's bytes.
func (c *compressed) plainLen(data []byte) int {
	if len(data) == 0 || data[0] != tagCompressed {
		return max(len(data)-1, 0)
	}
	size, _ := binary.Uvarint(data[1:])
	return int(min(size, uint64(c.limit))) //nolint:gosec // at most the limit
}

// plain returns the inner codec's bytes, at most limit of them. If own is set, their slice is
// new.
func (c *compressed) plain(data []byte, limit int) (plain []byte, own bool, err error) {
	if len(data) == 0 {
		return nil, false, c.corrupt(data, "no tag byte")
	}
	switch body := data[1:]; data[0] {
	case tagPlain:
		if len(body) > limit {
			return nil, false, sizeError(c.id, len(body), limit)
		}
		return body, false, nil
	case tagCompressed:
		plain, err = c.unpack(body, limit)
		return plain, true, err
	}
	return nil, false, c.corrupt(data, "unknown tag byte")
}

// unpack returns the inner codec's bytes in a new slice. A pool of slices would save the
// allocation. But a type whose UnmarshalJSON keeps its argument would then see the bytes of
// another value.
func (c *compressed) unpack(body []byte, limit int) ([]byte, error) {
	size, n := binary.Uvarint(body)
	if n <= 0 {
		return nil, c.corrupt(body, "no size")
	}
	body = body[n:]
	if size > uint64(limit) {
		return nil, fmt.Errorf("%w: %s, %d bytes, at most %d", ErrTooLarge, c.id, size, limit)
	}
	if size > uint64(len(body))*uint64(c.pack.ratio()) {
		return nil, c.corrupt(body, "size is more than its bytes can hold")
	}
	plain := make([]byte, size)
	if err := c.pack.unpack(plain, body); err != nil {
		return nil, &failure{fmt.Sprintf("%v: %s, %d bytes", ErrCorrupt, c.id, len(body)), ErrCorrupt, err}
	}
	return plain, nil
}

func (c *compressed) corrupt(data []byte, what string) error {
	return fmt.Errorf("%w: %s, %d bytes: %s", ErrCorrupt, c.id, len(data), what)
}
