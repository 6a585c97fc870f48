// Package codec turns values into bytes and back: [JSON], [CBOR] and [Raw],
// each of which [Snappy] or [Deflate] can compress. They say of a type whether its
// values come back as they were (see [Checker]); [Lossy] accepts that they do not.
//
// Bytes come back from a place that other programs can write to, so every
// decoder here treats them as hostile: it never panics, and it checks what the
// bytes announce against a limit, and against the bytes that are there, before
// it allocates for it. What no decoder notices is a flipped bit that leaves
// well-formed data behind; that is what the checksum of a cell is for.
package codec

import (
	"errors"
	"fmt"
)

// Codec is one way to write values. All methods may be called concurrently.
type Codec interface {
	// ID names the format: 1 to 64 bytes of [a-z0-9+._-], the same at every
	// call. It is stored beside every value, so it stands for the format for
	// good: a codec that changes what it writes takes a new ID.
	ID() string

	// Marshal returns v in a slice that belongs to the caller; v keeps no part
	// of it. v may be a value or a pointer to one.
	Marshal(v any) ([]byte, error)

	// Unmarshal decodes data into v, a non-nil pointer. It does not keep,
	// alias or change data, which may be a network buffer. After an error *v
	// may be half written; the caller throws it away.
	Unmarshal(data []byte, v any) error
}

// Owner is a [Codec] that saves a copy where data is the value's to keep. Only [Raw], and
// what compresses it, has a use for that.
type Owner interface {
	Codec

	// UnmarshalOwned is Unmarshal of data that nobody else uses or changes any
	// more: what is written to v may be a part of it.
	UnmarshalOwned(data []byte, v any) error
}

// UnmarshalOwned decodes data, which the caller gives away, into v: by c's UnmarshalOwned
// if it has one, else by its Unmarshal.
func UnmarshalOwned(c Codec, data []byte, v any) error {
	if o, ok := c.(Owner); ok {
		return o.UnmarshalOwned(data, v)
	}
	return c.Unmarshal(data, v)
}

// MaxDecoded is how many bytes a compressed value may have before compression,
// unless [Limit] says otherwise.
const MaxDecoded = 64 << 20

// The errors of this package. Each error that is returned wraps one of them.
// It names the codec, the Go type and a length, never what a value holds. The
// errors of encoding/json and the like, which may quote it, are in reach of
// [errors.As] but not in the text.
var (
	ErrCorrupt  = errors.New("codec: corrupt data")           // Unmarshal: not what Marshal writes
	ErrTooLarge = errors.New("codec: value too large")        // either: over the limit
	ErrType     = errors.New("codec: type not supported")     // either: no value of the type can be coded; Check: some do not come back
	ErrValue    = errors.New("codec: value has no encoding")  // Marshal: NaN, a cycle, a string that is not UTF-8
	ErrID       = errors.New("codec: invalid or repeated id") // NewSet
)

// failure is an error whose cause can be reached but is not printed.
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
