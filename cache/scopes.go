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

// Key returns the scope of k, of the handle's tenant and namespace, for
// [Tiers.Invalidate]. A scope of a key that cannot be, of a tenant whose name is not valid
// or of the zero Cache is refused by every call it is passed to; so it is with the other
// scopes of a handle.
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

// Tag returns the scope of everything that carries tag for the handle's tenant, in all of
// its namespaces.
func (c Cache[K, V]) Tag(tag string) invalidate.Scope {
	if err := c.unscoped(); err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Tag(c.v.space.Tenant, tag)
}

// All returns the scope of every key of the handle's tenant and namespace. It covers no
// other namespace of the Tiers: [New] refuses one that would be covered.
func (c Cache[K, V]) All() invalidate.Scope {
	if err := c.unscoped(); err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Prefix(c.v.space.Tenant, c.v.space.Namespace+":")
}

// Prefix returns the scope of every key of the handle's tenant and namespace that starts
// with prefix. Of a string key these are its first bytes, up to the end of a character:
// Prefix("john doe") covers the keys "john doe" and "john doe jr". Of an integer they are
// the first characters of its decimal form: Prefix("4") covers 4, 42 and 400. Keys of
// other types are hashed, so they have no prefixes. A prefix that no key can have, and the
// empty one, make a scope that is refused; for every key there is [Cache.All].
func (c Cache[K, V]) Prefix(prefix string) invalidate.Scope {
	if err := c.unscoped(); err != nil {
		return invalidate.Invalid(err)
	}
	id, err := spellPrefix(reflect.TypeFor[K](), prefix)
	if err != nil {
		return invalidate.Invalid(err)
	}
	return invalidate.Prefix(c.v.space.Tenant, c.v.space.Namespace+":"+id)
}

// unscoped says why the handle has no scopes.
func (c Cache[K, V]) unscoped() error {
	if c.s == nil {
		return errZeroCache
	}
	return c.v.err
}

// spellPrefix spells a prefix of keys of type t as keys do.
func spellPrefix(t reflect.Type, prefix string) (string, error) {
	if prefix == "" {
		return "", errors.New("prefix is empty: use All for every key of the namespace")
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		if cutsCharacter(prefix) {
			return "", fmt.Errorf("prefix of %d bytes ends within a character: end it before or behind that", len(prefix))
		}
		return key.Text(prefix), nil
	case k >= reflect.Int && k <= reflect.Int64:
		prefix, negative := strings.CutPrefix(prefix, "-")
		if prefix == "" && negative || startsNumber(prefix) && (!negative || prefix != "0") {
			return sign(negative) + prefix, nil
		}
	case k >= reflect.Uint && k <= reflect.Uintptr:
		if startsNumber(prefix) {
			return prefix, nil
		}
	default:
		return "", fmt.Errorf("prefix of %d bytes: keys of type %v are hashed and have no prefixes; use Key, a tag or All", len(prefix), t)
	}
	return "", fmt.Errorf("prefix of %d bytes: keys of type %v are decimal numbers, and none starts so", len(prefix), t)
}

func sign(negative bool) string {
	if negative {
		return "-"
	}
	return ""
}

// startsNumber reports whether the decimal form of some integer that is not negative starts
// with s.
func startsNumber(s string) bool {
	const longest = 20 // the digits of 1<<64 - 1
	if s == "" || len(s) > longest || s[0] == '0' && len(s) > 1 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// cutsCharacter reports whether s ends within a character. What it is a prefix of spells
// that character in another way than its first bytes alone.
func cutsCharacter(s string) bool {
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if utf8.RuneStart(s[i]) {
			return !utf8.FullRuneInString(s[i:])
		}
	}
	return false
}
