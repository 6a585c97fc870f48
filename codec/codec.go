// Package codec turns values into bytes and back: [JSON], [CBOR] and [Raw], each of which
// [Snappy] or [Deflate] can compress. A [Checker] reports whether values of a type come back
// equal; [Lossy] accepts types that do not.
//
// Other programs can write to the place that the bytes come from, so every decoder here treats
// them as hostile. It never panics. Before it allocates memory for a length that the bytes
// announce, it checks the length against a limit and against the bytes that are there. The elements
// of a well-formed value may still take many times its bytes. No decoder
// notices a flipped bit that leaves well-formed data; the checksum of a cell does.
package codec

import (
	"errors"
	"fmt"
)

// Codec is one way to encode values. All methods may be called concurrently.
type Codec interface {
	// ID names the format: 1 to 64 bytes of [a-z0-9+._-], the same at every call. It is stored
	// with every value, so an ID must always mean the same format. A codec that changes its format
	// needs a new ID.
	ID() string

	// Marshal returns v encoded in a slice that belongs to the caller. v is a value or a pointer
	// to one, and must not keep a part of the slice.
	Marshal(v any) ([]byte, error)

	// Unmarshal decodes data into v, a non-nil pointer. It does not keep, alias or change data,
	// which may be a network buffer. After an error *v may be half written; the caller discards
	// it.
	Unmarshal(data []byte, v any) error
}

// Owner is a [Codec] that avoids a copy if the value may keep data. Only [Raw], and codecs that
// compress it, use that.
type Owner interface {
	Codec

	// UnmarshalOwned is Unmarshal of data that nothing else uses or changes any more. A part of
	// data may become a part of v.
	UnmarshalOwned(data []byte, v any) error
}

// UnmarshalOwned decodes data into v and lets v keep data. It calls c's UnmarshalOwned, or
// Unmarshal if c has none.
func UnmarshalOwned(c Codec, data []byte, v any) error {
	if o, ok := c.(Owner); ok {
		return o.UnmarshalOwned(data, v)
	}
	return c.Unmarshal(data, v)
}

// MaxDecoded is how many bytes a compressed value may have before compression. [Limit] changes
// it.
const MaxDecoded = 64 << 20

// The errors of this package. Each returned error wraps one of them. Its text names the codec,
// the Go type and a length, never the content of a value. The errors of encoding/json and the
// like may quote the content. [errors.As] finds them, but the text leaves them out.
var (
	ErrCorrupt  = errors.New("codec: corrupt data")           // Unmarshal: not written by Marshal
	ErrTooLarge = errors.New("codec: value too large")        // both: over the limit
	ErrType     = errors.New("codec: type not supported")     // both: the type cannot be coded; Check: values change
	ErrValue    = errors.New("codec: value has no encoding")  // Marshal: NaN, a cycle, a string that is not UTF-8
	ErrID       = errors.New("codec: invalid or repeated id") // NewSet
)

// failure is an error whose cause is wrapped but not printed.
type failure struct {
	text  string
	is    error
	cause error
}

func (e *failure) Error() string { return e.text }

func (e *failure) Unwrap() []error {
	if e.cause == nil {
		return []error{e.is}
	}
	return []error{e.is, e.cause}
}

func marshalError(is error, id string, v any, cause error) error {
	return &failure{fmt.Sprintf("%v: %s, %T", is, id, v), is, cause}
}

func unmarshalError(is error, id string, data []byte, v any, cause error) error {
	return &failure{fmt.Sprintf("%v: %s, %d bytes into %T", is, id, len(data), v), is, cause}
}

func sizeError(id string, size, limit int) error {
	return fmt.Errorf("%w: %s, %d bytes, at most %d", ErrTooLarge, id, size, limit)
}
