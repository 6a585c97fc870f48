package cache

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Namespace returns the namespace of the cache, for what names its keys outside of Go, such as a Row
// of package triggers. That of the zero Cache is empty.
func (c Cache[K, V]) Namespace() string {
	if c.s == nil {
		return ""
	}
	return c.v.Space.Namespace
}

// HashesKeys reports whether the cache hashes its keys, so that SQL cannot spell them; see key.Of.
func (c Cache[K, V]) HashesKeys() bool { return key.Hashes[K]() }

// Key returns the scope of k in the handle's tenant and namespace, for [Tiers.Invalidate]. A
// call refuses the scope if the key or the tenant's name is not valid, or if the Cache is zero.
// The same holds for the other scopes of a handle.
func (c Cache[K, V]) Key(k K) invalidate.Scope {
	if err := c.unscoped(); err != nil {
		return invalidate.Invalid(err)
	}
	full, err := fullKey(c.v, k)
	if err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Key(full)
}

// Tag returns the scope of everything that carries tag for the handle's tenant, in all of the
// tenant's namespaces.
func (c Cache[K, V]) Tag(tag string) invalidate.Scope {
	if err := c.unscoped(); err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Tag(c.v.Space.Tenant, tag)
}

// All returns the scope of every key of the handle's tenant and namespace. It covers no other
// namespace of the Tiers, because [New] refuses a namespace that it would cover.
func (c Cache[K, V]) All() invalidate.Scope {
	if err := c.unscoped(); err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Prefix(c.v.Space.Tenant, c.v.Space.Namespace+":")
}

// Prefix returns the scope of every key of the handle's tenant and namespace that starts with
// prefix. The prefix of a string key is its first bytes, up to the end of a character:
// Prefix("john doe") covers the keys "john doe" and "john doe jr". The prefix of an integer is
// the first characters of its decimal form: Prefix("4") covers 4, 42 and 400. That of a UUID is the
// first bytes of its text. Keys of other types are hashed, so they have no prefixes; see key.Of. Calls
// refuse the scope of a prefix that no key can have, and of the empty prefix; use [Cache.All] for every
// key.
func (c Cache[K, V]) Prefix(prefix string) invalidate.Scope {
	if err := c.unscoped(); err != nil {
		return invalidate.Invalid(err)
	}
	id, err := spellPrefix(reflect.TypeFor[K](), key.Hashes[K](), prefix)
	if err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Prefix(c.v.Space.Tenant, c.v.Space.Namespace+":"+id)
}

// unscoped returns why the handle has no scopes, or nil.
func (c Cache[K, V]) unscoped() error {
	if c.s == nil {
		return errZeroCache
	}
	return c.v.Err
}

// spellPrefix spells a prefix of keys of type t, as those keys are spelled.
func spellPrefix(t reflect.Type, hashed bool, prefix string) (string, error) {
	switch k := t.Kind(); {
	case prefix == "":
		return "", errors.New("prefix is empty: use All for every key of the namespace")
	case hashed:
		return "", fmt.Errorf("prefix of %d bytes: keys of type %v are hashed and have no prefixes; use Key, a tag or All", len(prefix), t)
	case k >= reflect.Int && k <= reflect.Int64:
		prefix, negative := strings.CutPrefix(prefix, "-")
		if prefix == "" && negative || startsNumber(prefix) && (!negative || prefix != "0") {
			return sign(negative) + prefix, nil
		}
	case k >= reflect.Uint && k <= reflect.Uintptr:
		if startsNumber(prefix) {
			return prefix, nil
		}
	case cutsCharacter(prefix):
		return "", fmt.Errorf("prefix of %d bytes ends within a character: end it before or after that character", len(prefix))
	default:
		return key.Text(prefix), nil
	}
	return "", fmt.Errorf("prefix of %d bytes: keys of type %v are decimal numbers, and none starts with it", len(prefix), t)
}

func sign(negative bool) string {
	if negative {
		return "-"
	}
	return ""
}

// startsNumber reports whether s starts the decimal form of some integer that is not negative.
func startsNumber(s string) bool {
	const longest = 20 // the digits of 1<<64 - 1
	if s == "" || len(s) > longest || s[0] == '0' && len(s) > 1 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// cutsCharacter reports whether s ends within a character. A key with the whole character spells
// those bytes in another way.
func cutsCharacter(s string) bool {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			return !utf8.FullRuneInString(s[i:])
		}
	}
	return false
}
