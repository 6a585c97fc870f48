// Package key spells cache keys: "{tenant}:{namespace}:{id}", so that no two
// of them ever share a spelling.
//
// A [Space] is a tenant's share of a namespace. Ids are spelled by [Text],
// [Int] and [Uint] where a person should be able to read them, and by [Hash]
// for everything else; [Of] chooses by type. [Space.Key] joins the two and
// checks the result.
//
// All functions and methods are pure and may be called concurrently.
package key

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// MaxLen is the longest full key, in bytes. Redis would take half a gigabyte;
// a key that long is a payload that lost its way, and every index, log record
// and metric that names it would pay.
const MaxLen = 1024

// Space is one tenant's share of a namespace. Its zero value is not valid.
//
// A tenant contains no ':'. A namespace may, to be read as a path
// ("users:v1"), but has no empty segment: it neither starts nor ends with ':'
// and holds no "::". The spelling would stay unambiguous even so (see
// [Parse]); but an empty segment is a variable somebody forgot to fill, and
// "users:" next to "users" would make two spaces of what reads as one.
type Space struct {
	Tenant    string // not empty, no ':'
	Namespace string // not empty, no empty segment
}

// String returns "tenant:namespace". It does not check s.
func (s Space) String() string { return s.Tenant + ":" + s.Namespace }

// Prefix returns "tenant:namespace:", what every key of the space starts with.
// Keys of a longer namespace ("users:v1" beside "users") start with it too.
func (s Space) Prefix() string { return s.Tenant + ":" + s.Namespace + ":" }

// Validate returns nil when keys can be made in s. The error names the field
// and wraps [ErrEmpty], [ErrSeparator], [ErrCharacter], [ErrUTF8] or
// [ErrTooLong]. It allocates only for an error.
func (s Space) Validate() error {
	if err := checkName("tenant", s.Tenant); err != nil {
		return err
	}
	if strings.Contains(s.Tenant, ":") {
		return fieldError(ErrSeparator, "tenant", s.Tenant)
	}
	if err := checkName("namespace", s.Namespace); err != nil {
		return err
	}
	if n := s.Namespace; n[0] == ':' || n[len(n)-1] == ':' || strings.Contains(n, "::") {
		return fieldError(ErrSeparator, "namespace", n)
	}
	// The shortest id is one byte.
	if n := len(s.Tenant) + 1 + len(s.Namespace) + 1 + 1; n > MaxLen {
		return lengthError("tenant and namespace", n)
	}
	return nil
}

// Key returns the key of an id that is already spelled, by [Text], [Int],
// [Uint], [Hash] or [Of]; it does not escape, it checks. The error is one of
// [Space.Validate], or names the id: [ErrEmpty], [ErrEscape] when it is not
// what Text would write, [ErrTooLong] when the full key is above [MaxLen].
func (s Space) Key(id string) (Key, error) {
	if err := s.Validate(); err != nil {
		return Key{}, err
	}
	if err := checkID(id); err != nil {
		return Key{}, err
	}
	if n := len(s.Tenant) + 1 + len(s.Namespace) + 1 + len(id); n > MaxLen {
		return Key{}, lengthError("key", n)
	}
	return Key{s.Tenant + ":" + s.Namespace + ":" + id}, nil
}

// Key is a checked full key. Keys compare with ==, and equal keys have equal
// spellings. The zero Key is no key: all its parts are empty.
type Key struct{ s string }

// Parse reads a full key back. The first ':' ends the tenant and the last one
// starts the id, which is why neither may contain one. The errors are those of
// [Space.Key]; a key with fewer than two ':' is [ErrSeparator].
func Parse(s string) (Key, error) {
	if len(s) > MaxLen {
		return Key{}, lengthError("key", len(s))
	}
	first, last := strings.IndexByte(s, ':'), strings.LastIndexByte(s, ':')
	if first == last { // none or one
		return Key{}, fieldError(ErrSeparator, "key", s)
	}
	if err := (Space{s[:first], s[first+1 : last]}).Validate(); err != nil {
		return Key{}, err
	}
	if err := checkID(s[last+1:]); err != nil {
		return Key{}, err
	}
	return Key{s}, nil
}

// String returns the full key, "{tenant}:{namespace}:{id}", without
// allocating.
func (k Key) String() string { return k.s }

// Space returns the space the key is in, without allocating.
func (k Key) Space() Space {
	if k.s == "" {
		return Space{}
	}
	first, last := strings.IndexByte(k.s, ':'), strings.LastIndexByte(k.s, ':')
	return Space{k.s[:first], k.s[first+1 : last]}
}

// ID returns the spelled id, without allocating. [Unescape] undoes [Text].
func (k Key) ID() string { return k.s[strings.LastIndexByte(k.s, ':')+1:] }

// Hash returns the XXH64 of the full key: the same in every process, so that
// it can seed jitter and travel in a cell. It is not keyed; whoever must not
// be steered into collisions compares the key as well.
func (k Key) Hash() uint64 { return xxhash.Sum64String(k.s) }
