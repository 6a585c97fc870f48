// Package key spells cache keys as "{tenant}:{namespace}:{id}". Different keys never have the
// same spelling.
//
// A [Space] is a tenant's share of a namespace. [Text], [Int] and [Uint] make readable ids, and
// [Hash] makes an id of any other value; [Of] chooses by type, and [Hashes] says whether it hashes.
// [Space.Key] joins a space and an id and checks the result.
//
// All functions and methods are pure and may be called concurrently.
package key

import (
	"strings"

	"github.com/cespare/xxhash/v2"
)

// MaxLen is the longest full key, in bytes. Redis would allow half a gigabyte. But every index,
// log record and metric that names a key pays for its length, and a longer key is nearly always a
// mistake.
const MaxLen = 1024

// Space is one tenant's share of a namespace. Its zero value is not valid.
//
// A tenant contains no ':'. A namespace may contain it, to read like a path ("users:v1"). But it
// has no empty segment: it does not start or end with ':' and has no "::". Empty segments would be
// unambiguous (see [Parse]), but they usually come from an empty variable. Then "users:" and
// "users" would be two spaces that look like one.
type Space struct {
	Tenant    string // not empty, no ':'
	Namespace string // not empty, no empty segment
}

// String returns "tenant:namespace". It does not check s.
func (s Space) String() string { return s.Tenant + ":" + s.Namespace }

// Prefix returns "tenant:namespace:", the start of every key in the space. Keys of a longer
// namespace ("users:v1" beside "users") start with it too.
func (s Space) Prefix() string { return s.Tenant + ":" + s.Namespace + ":" }

// Validate returns nil if keys can be made in s. The error names the field and wraps [ErrEmpty],
// [ErrSeparator], [ErrCharacter], [ErrUTF8] or [ErrTooLong]. Validate allocates only for an
// error.
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

// Key returns the key of an id that [Text], [Int], [Uint], [Hash] or [Of] has spelled. It checks
// the id and does not escape it. The error is that of [Space.Validate], or one about the id:
// [ErrEmpty], [ErrEscape] if Text would not write it so, [ErrTooLong] if the full key is longer
// than [MaxLen].
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

// Key is a checked full key. Keys compare with ==, and equal keys have equal spellings. The zero
// Key is not a key: all its parts are empty.
type Key struct{ s string }

// Parse reads a full key. The first ':' ends the tenant and the last one starts the id. The
// errors are those of [Space.Key]. A key with fewer than two ':' is [ErrSeparator].
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

// Space returns the space of the key, without allocating.
func (k Key) Space() Space {
	if k.s == "" {
		return Space{}
	}
	first, last := strings.IndexByte(k.s, ':'), strings.LastIndexByte(k.s, ':')
	return Space{k.s[:first], k.s[first+1 : last]}
}

// ID returns the spelled id, without allocating. [Unescape] reverses [Text].
func (k Key) ID() string { return k.s[strings.LastIndexByte(k.s, ':')+1:] }

// Hash returns the XXH64 of the full key. It is the same in every process, so jitter and cells
// can use it. It has no secret: an attacker can choose keys with equal hashes. Where that
// matters, compare the keys too.
func (k Key) Hash() uint64 { return xxhash.Sum64String(k.s) }
