package key

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// Hash returns an id for v: the SHA-256 of v's canonical JSON (RFC 8785) in base64url without
// padding, 43 bytes. The canonical JSON is the output of [json.Marshal] with sorted names and one
// spelling for each number. A top-level string or number is allowed. Any language with an
// implementation of the RFC can compute the same id.
//
// Hash refuses, as [ErrType], a struct with a field that its JSON leaves out: unexported, tagged
// "-", hidden by another field of its JSON name, or with omitzero and an IsZero of its own. Two
// values that differ only there would share an id. The fields may be anywhere in v, also behind
// pointers, slices, maps and interfaces. Hash trusts a type that marshals itself.
//
// Two values with different JSON never share an id, unless SHA-256 collides. The RFC does not
// guarantee that, so Hash differs from it, but only in these cases:
//
//   - RFC 8785 reads numbers as IEEE 754 doubles, so 9007199254740992 and 9007199254740993 are
//     the same. Hash replaces an integer outside ±2⁵³ by the string "\u0000int:" and its digits.
//     To keep that unambiguous, a string that starts with U+0000 gets one more in front.
//   - A number with a fraction or exponent must be the shortest decimal of its double. Any other
//     (from a [json.Number] or [json.RawMessage]) would be rounded and is [ErrNumber]. NaN and the
//     infinities are [ErrNumber], too.
//   - json.Marshal replaces all bytes that are not UTF-8 by U+FFFD. Hash returns [ErrUTF8].
//
// A value without a JSON form, or with a repeated name in one object, is [ErrType]. Values of
// different types may have the same JSON: 1, 1.0 and a time.Duration of 1 ns share an id.
// [CheckType] reports whether two values of one type can.
func Hash(v any) (string, error) {
	var room [256]byte
	if data, ok := appendPlain(room[:0], reflect.ValueOf(v)); ok {
		return idOf(data), nil
	}
	return hashSlowly(v)
}

func hashSlowly(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", marshalError(v, err)
	}
	if err := checkDropped(v); err != nil { // after Marshal, which refuses cycles
		return "", err
	}
	if !utf8.Valid(data) { // from a json.RawMessage or Marshaler
		return "", typeError(ErrUTF8, v)
	}
	if data, err = exact(data); err != nil {
		return "", typeError(err, v)
	}
	if data, err = jcs.Transform(data); err != nil {
		// A repeated name, or half a surrogate pair. The library's text quotes the data, so it is
		// not printed.
		return "", &opaque{typeError(ErrType, v).Error() + ": no canonical JSON", ErrType, err}
	}
	return idOf(data), nil
}

// idOf returns the id of canonical JSON.
func idOf(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	var id [43]byte
	base64.RawURLEncoding.Encode(id[:], sum[:])
	return string(id[:])
}

func typeError(err error, v any) error {
	return fmt.Errorf("%w: in a %T", err, v)
}

func marshalError(v any, err error) error {
	is := ErrType
	if e, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
		if k := e.Value.Kind(); k == reflect.Float32 || k == reflect.Float64 {
			is = ErrNumber // NaN or infinite; other kinds are cycles
		}
	}
	return &opaque{typeError(is, v).Error() + ": no JSON form", is, err}
}
