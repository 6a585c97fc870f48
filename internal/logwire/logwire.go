// Package logwire turns the fences of a log's records into payloads and back.
package logwire

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// A payload has a line for each fence, and a newline between two lines:
//
//	k default:users:v1:42     a key
//	p default:users:v1:       a prefix with its tenant; "p default:" is the whole tenant
//	t default:org:7           a tag after its tenant
//	a                         everything
//
// The letter of a soft fence is followed by "~". The text is that of the scope, in UTF-8. A backslash in
// it is written \\. A control byte (up to 0x1F, and 0x7F) and a byte that is not valid UTF-8 is \x with
// two digits of lower-case hex. A payload that Encode would write in another way is refused.

// Version is the version of the layout, and of all that a log notes beside its records. A log keeps it
// with its notes, and refuses one of another version.
const Version = "3"

const soft = '~'

// Check returns why fences cannot be one record of the sequence of keys, or of the other sequence.
func Check(fences []invalidate.Fence, ofKeys bool) error {
	if len(fences) > invalidate.MaxFences {
		return fmt.Errorf("%d fences for one record, at most %d", len(fences), invalidate.MaxFences)
	}
	size := 0
	for i, f := range fences {
		if f.OfKeys() != ofKeys {
			return fmt.Errorf("fence %d: a %v does not belong to this sequence", i, f.Scope.Kind())
		}
		if err := f.Scope.Validate(); err != nil {
			return fmt.Errorf("fence %d: %w", i, err)
		}
		if size += Size(f); size > invalidate.MaxText {
			return fmt.Errorf("texts of more than %d bytes for one record: split the append", invalidate.MaxText)
		}
	}
	return nil
}

// Size returns how many bytes of [invalidate.MaxText] a fence takes.
func Size(f invalidate.Fence) int {
	n := len(f.Scope.Text())
	if f.Scope.Kind() == invalidate.KindTag {
		n += len(f.Scope.Tenant())
	}
	return n
}

// Split splits off as many fences as one record holds.
func Split(fences []invalidate.Fence) (now, rest []invalidate.Fence) {
	n, size := 0, 0
	for n < min(len(fences), invalidate.MaxFences) {
		if size += Size(fences[n]); size > invalidate.MaxText && n > 0 {
			break
		}
		n++
	}
	return fences[:n:n], fences[n:]
}

// Millis returns the milliseconds of a bound, rounded up.
func Millis(d time.Duration) int64 {
	return int64(d/time.Millisecond) + min(int64(d%time.Millisecond), 1)
}

// Payloads returns the payloads of what a Sync appends, "" for no fences.
func Payloads(a invalidate.Append) (keys, scopes string, err error) {
	if err := cmp.Or(Check(a.Keys, true), Check(a.Scopes, false)); err != nil {
		return "", "", err
	}
	return Encode(a.Keys), Encode(a.Scopes), nil
}

// Encode returns the payload of fences that pass [Check].
func Encode(fences []invalidate.Fence) string {
	size := 0
	for _, f := range fences {
		size += Size(f) + len("k~ :\n")
	}
	var b strings.Builder
	b.Grow(size)
	for i, f := range fences {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteByte(letters[f.Scope.Kind()])
		if f.Soft {
			b.WriteByte(soft)
		}
		switch f.Scope.Kind() {
		case invalidate.KindTag:
			b.WriteByte(' ')
			escape(&b, f.Scope.Tenant())
			b.WriteByte(':')
			escape(&b, f.Scope.Text())
		case invalidate.KindKey, invalidate.KindPrefix:
			b.WriteByte(' ')
			escape(&b, f.Scope.Text())
		case invalidate.KindAll:
		}
	}
	return b.String()
}

// letters are those of the kinds.
const letters = "-kpta"

// Decode returns the fences of a payload, and false when Encode cannot have written it. The fences keep
// parts of the payload.
func Decode(payload string, ofKeys bool) ([]invalidate.Fence, bool) {
	lines := strings.Count(payload, "\n") + 1
	if payload == "" || lines > invalidate.MaxFences {
		return nil, false
	}
	fences, size := make([]invalidate.Fence, 0, lines), 0
	for line := range strings.SplitSeq(payload, "\n") {
		f, ok := decodeLine(line)
		if size += Size(f); !ok || f.OfKeys() != ofKeys || size > invalidate.MaxText {
			return nil, false
		}
		fences = append(fences, f)
	}
	return fences, true
}

func decodeLine(line string) (f invalidate.Fence, ok bool) {
	if line == "" {
		return f, false
	}
	kind, text := line[0], line[1:]
	text, f.Soft = strings.CutPrefix(text, string(soft))
	if kind == 'a' {
		f.Scope = invalidate.All()
		return f, text == ""
	}
	text, spaced := strings.CutPrefix(text, " ")
	text, ok = unescape(text)
	tenant, rest, whole := strings.Cut(text, ":")
	if !spaced || !ok || !whole {
		return f, false
	}
	switch {
	case kind == 'k':
		k, err := key.Parse(text)
		f.Scope = invalidate.Key(k)
		return f, err == nil
	case kind == 'p' && rest == "":
		f.Scope = invalidate.Tenant(tenant)
	case kind == 'p':
		f.Scope = invalidate.Prefix(tenant, rest)
	case kind == 't':
		f.Scope = invalidate.Tag(tenant, rest)
	}
	return f, f.Scope.Validate() == nil // the zero Scope is not valid
}

const hexDigits = "0123456789abcdef"

// plain returns the length of the longest start of a text that needs no escapes.
func plain(s string) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f || c == '\\' {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

func escape(b *strings.Builder, s string) {
	for {
		n := plain(s)
		b.WriteString(s[:n])
		if n == len(s) {
			return
		}
		if c := s[n]; c == '\\' {
			b.WriteString(`\\`)
		} else {
			b.WriteString(`\x`)
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
		s = s[n+1:]
	}
}

// unescape reverses escape. It returns false for a text that escape does not write.
func unescape(s string) (string, bool) {
	if plain(s) == len(s) {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for rest := s; rest != ""; {
		switch {
		case rest[0] != '\\':
			b, rest = append(b, rest[0]), rest[1:]
		case strings.HasPrefix(rest, `\\`):
			b, rest = append(b, '\\'), rest[2:]
		case strings.HasPrefix(rest, `\x`) && len(rest) >= 4:
			high, low := strings.IndexByte(hexDigits, rest[2]), strings.IndexByte(hexDigits, rest[3])
			if high < 0 || low < 0 {
				return "", false
			}
			b, rest = append(b, byte(high<<4|low)), rest[4:] //nolint:gosec // two digits
		default:
			return "", false
		}
	}
	text := string(b)
	var again strings.Builder // finds each wrong or missing escape
	again.Grow(len(s))
	escape(&again, text)
	return text, again.String() == s
}

// NewID returns a random id of a record or of an epoch, which is never zero.
func NewID() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // documented never to fail
		if id := binary.BigEndian.Uint64(b[:]); id != 0 {
			return id
		}
	}
}
