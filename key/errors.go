package key

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// The errors of this package. Each returned error wraps one of them. It names the field and its
// length or type, never its content.
var (
	ErrEmpty     = errors.New("key: empty")
	ErrTooLong   = errors.New("key: too long")
	ErrSeparator = errors.New("key: misplaced ':'")

	// ErrCharacter is a control character, or a brace in a tenant or namespace. Redis Cluster
	// hashes only the part of a key between the first '{' and the next '}'. A tenant with a brace
	// in its name could therefore choose the node for its keys, or gather all keys on one node.
	ErrCharacter = errors.New("key: character not allowed")

	ErrEscape = errors.New("key: id not spelled as Text would")
	ErrType   = errors.New("key: type cannot be a key")
	ErrNumber = errors.New("key: number without an exact JSON form")
	ErrUTF8   = errors.New("key: invalid UTF-8")
)

func fieldError(err error, field, value string) error {
	return fmt.Errorf("%w: %s of %d bytes", err, field, len(value))
}

func lengthError(field string, n int) error {
	return fmt.Errorf("%w: %s of %d bytes, at most %d", ErrTooLong, field, n, MaxLen)
}

// checkName checks the rules for both tenants and namespaces.
func checkName(field, s string) error {
	if s == "" {
		return fmt.Errorf("%w: %s", ErrEmpty, field)
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f || c == '{' || c == '}' {
				return fieldError(ErrCharacter, field, s)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return fieldError(ErrUTF8, field, s)
		}
		if unicode.IsControl(r) { // U+0080 to U+009F
			return fieldError(ErrCharacter, field, s)
		}
		i += size
	}
	return nil
}

// checkID checks that Text could have written id, so an id that a caller builds by hand cannot
// contain a separator or a second spelling.
func checkID(id string) error {
	if id == "" {
		return fmt.Errorf("%w: id", ErrEmpty)
	}
	if len(id) > MaxLen { // before Unescape copies it
		return lengthError("id", len(id))
	}
	_, err := Unescape(id)
	return err
}

// opaque is an error whose cause is wrapped but not printed: the text of a marshaller may quote
// the value.
type opaque struct {
	text  string
	is    error
	cause error
}

func (e *opaque) Error() string   { return e.text }
func (e *opaque) Unwrap() []error { return []error{e.is, e.cause} }
