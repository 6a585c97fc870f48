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

// Hash spells v as an id: base64url without padding of the SHA-256 of v's
// canonical JSON (RFC 8785), 43 bytes. Canonical is what [json.Marshal] makes
// of v, with sorted names and one way to write each number; a top-level string
// or number is fine. Any language with the RFC can compute the same id.
//
// Two values whose JSON differs never share an id, short of a SHA-256
// collision. The RFC alone does not give that, so Hash departs from it where
// it has to, and only there:
//
//   - RFC 8785 reads numbers as IEEE 754 doubles, which have one value for
//     9007199254740992 and 9007199254740993. An integer outside ±2⁵³ is
//     hashed as the string "\u0000int:" and its digits instead. To keep that
//     unambiguous, a string that starts with U+0000 gets one more in front.
//   - A number with a fraction or exponent that is not a double's shortest
//     spelling (out of a [json.Number] or [json.RawMessage]) is [ErrNumber]:
//     reading it would round it. So are NaN and the infinities.
//   - json.Marshal writes U+FFFD for bytes that are not UTF-8, the same for
//     all of them. That is [ErrUTF8].
//
// A value without a JSON form, or with a name twice in one object, is
// [ErrType]. Values of different types may well have one JSON: 1, 1.0 and a
// time.Duration of 1 ns share an id. [CheckType] says whether two values of
// one type can.
func Hash(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", marshalError(v, err)
	}
	if !utf8.Valid(data) { // a json.RawMessage or Marshaler wrote it
		return "", typeError(ErrUTF8, v)
	}
	if data, err = exact(data); err != nil {
		return "", typeError(err, v)
	}
	if data, err = jcs.Transform(data); err != nil {
		// Names given twice, or half a surrogate pair. The library quotes what
		// it stumbled over, so its text stays inside.
		return "", &opaque{typeError(ErrType, v).Error() + ": no canonical JSON", ErrType, err}
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
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
