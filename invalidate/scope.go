package invalidate

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/key"
)

// MaxTagLen is the longest tag, in bytes.
const MaxTagLen = 256

// AnyTag is the hash that stands in a cell for the tags that do not fit. A cell with AnyTag is
// covered by the fence of any tag, of any tenant, because the cell does not name the tenant. It is
// xxHash64 of "*", which is the spelling of no tag.
const AnyTag uint64 = 0x0a9edecebeb03ae4

// ErrScope is wrapped by every error about an invalid scope.
var ErrScope = errors.New("invalidate: bad scope")

// Kind is the kind of a scope.
type Kind uint8

// The kinds of scopes. The zero Kind means no scope.
const (
	KindKey Kind = iota + 1
	KindPrefix
	KindTag
	KindAll
)

// String returns "key", "prefix", "tag" or "everything".
func (k Kind) String() string {
	switch k {
	case KindKey:
		return "key"
	case KindPrefix:
		return "prefix"
	case KindTag:
		return "tag"
	case KindAll:
		return "everything"
	}
	return "none"
}

// Scope is what one invalidation covers. [Key], [Prefix], [Tag], [Tenant] and [All] make
// scopes, and so do methods of cache.Cache. A Scope is a small comparable value. Validate refuses the zero Scope.
type Scope struct {
	kind   Kind
	tenant string
	text   string
	wrong  *wrong // not nil: why it is invalid
}

// wrong is the reason why a scope is invalid, found when it was made.
type wrong struct{ err error }

// Key covers one key.
func Key(k key.Key) Scope { return Scope{kind: KindKey, text: k.String()} }

// Prefix covers every key of tenant whose spelling after the tenant starts with prefix.
// Prefix("acme", "users:v1:") covers the namespace "users:v1" and the namespaces that start with
// "users:v1:". key.Text spells ids. The methods Prefix and All of a cache.Cache spell the tenant,
// the namespace and the id themselves. An empty prefix is invalid; use [Tenant] to cover all keys
// of a tenant.
func Prefix(tenant, prefix string) Scope {
	s := Scope{kind: KindPrefix, tenant: tenant, text: tenant + ":" + prefix}
	if prefix == "" {
		s.wrong = &wrong{fmt.Errorf("%w: prefix is empty: Tenant covers all keys of a tenant, All those of all tenants", ErrScope)}
	}
	return s
}

// Tenant covers every key of a tenant, in all namespaces.
func Tenant(tenant string) Scope { return Scope{kind: KindPrefix, tenant: tenant, text: tenant + ":"} }

// Invalid returns a scope that fails with err, for packages that make scopes. Validate, and every
// call that gets the scope, returns an error that wraps err. Err must not be nil.
func Invalid(err error) Scope {
	return Scope{wrong: &wrong{fmt.Errorf("%w: %w", ErrScope, err)}}
}

// All covers every key of every tenant.
func All() Scope { return Scope{kind: KindAll} }

// Tag covers everything in any namespace that carries tag for tenant. The tags of two tenants are
// different tags, even if they are spelled alike.
func Tag(tenant, tag string) Scope { return Scope{kind: KindTag, tenant: tenant, text: tag} }

// Kind returns the kind of scope; zero for the zero Scope.
func (s Scope) Kind() Kind { return s.kind }

// Text returns the key's or prefix's spelling, or the tag without its tenant.
func (s Scope) Text() string { return s.text }

// Tenant returns the tenant of what the scope covers, and "" for All.
func (s Scope) Tenant() string {
	if s.kind == KindKey {
		tenant, _, _ := strings.Cut(s.text, ":")
		return tenant
	}
	return s.tenant
}

// Hash returns the 64-bit hash that stands for the scope in cells: xxHash64 of its spelling. The
// spelling of a tag is "tenant:tag". The hash is 0 for [All].
// Two scopes with the same hash cause extra misses, and no wrong values.
func (s Scope) Hash() uint64 {
	switch s.kind {
	case KindKey, KindPrefix:
		return xxhash.Sum64String(s.text)
	case KindTag:
		return tagHash(s.tenant, s.text)
	case KindAll:
	}
	return 0
}

// String returns the scope for people, such as "prefix acme:users:". It shortens a text that is
// too long for a scope.
func (s Scope) String() string {
	switch {
	case s.kind == KindTag:
		return "tag " + quoted(s.tenant) + ":" + quoted(s.text)
	case s.kind == KindAll:
		return "everything"
	case s.kind == 0 && s.wrong != nil:
		return "invalid scope"
	}
	return s.kind.String() + " " + quoted(s.text)
}

// quoted returns text, shortened to what an error may quote.
func quoted(text string) string {
	if len(text) <= key.MaxLen {
		return text
	}
	return fmt.Sprintf("%.64s… (%d bytes)", text, len(text))
}

// Validate returns nil, or an error that wraps [ErrScope] and says why the scope is invalid.
func (s Scope) Validate() error {
	if s.wrong != nil {
		return s.wrong.err
	}
	switch s.kind {
	case KindKey:
		if s.text == "" {
			return fmt.Errorf("%w: key is the zero Key", ErrScope)
		}
	case KindPrefix:
		if err := validateTenant("a prefix", s.tenant); err != nil {
			return err
		}
		if len(s.text) > key.MaxLen {
			return fmt.Errorf("%w: prefix with its tenant has %d bytes, at most %d", ErrScope, len(s.text), key.MaxLen)
		}
	case KindTag:
		return validateTag(s.tenant, s.text)
	case KindAll:
	default:
		return fmt.Errorf("%w: zero Scope; make one by Key, Prefix, Tag, Tenant or All", ErrScope)
	}
	return nil
}

// validateTenant checks the tenant of a scope. The argument what names the kind of scope in errors.
func validateTenant(what, tenant string) error {
	switch {
	case tenant == "":
		return fmt.Errorf("%w: tenant of %s is empty: pass cache.DefaultTenant for caches that name none", ErrScope, what)
	case strings.Contains(tenant, ":"):
		return fmt.Errorf("%w: tenant of %s has a colon in its %d bytes: the first argument is the tenant alone",
			ErrScope, what, len(tenant))
	case len(tenant) > key.MaxLen:
		return fmt.Errorf("%w: tenant of %s has %d bytes, at most %d", ErrScope, what, len(tenant), key.MaxLen)
	}
	return nil
}

func validateTag(tenant, tag string) error {
	if err := validateTenant("a tag", tenant); err != nil {
		return err
	}
	if tag == "" {
		return fmt.Errorf("%w: tag is empty", ErrScope)
	}
	if len(tag) > MaxTagLen {
		return fmt.Errorf("%w: tag has %d bytes, at most %d", ErrScope, len(tag), MaxTagLen)
	}
	if !utf8.ValidString(tag) {
		return fmt.Errorf("%w: tag of %d bytes is not UTF-8", ErrScope, len(tag))
	}
	return nil
}

// tagHash is xxHash64 of "tenant:tag".
func tagHash(tenant, tag string) uint64 {
	var buf [160]byte
	b := append(buf[:0], tenant...)
	b = append(b, ':') // no tenant has a colon, so no two pairs share a spelling
	b = append(b, tag...)
	return xxhash.Sum64(b)
}
