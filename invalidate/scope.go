package invalidate

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/key"
)

// MaxTagLen is the longest tag, in bytes.
const MaxTagLen = 256

// AnyTag is the hash that stands in a cell for the tags that it has no room for. The fence of
// any tag, of whatever tenant, covers what carries it: records do not name the tenant. It is
// xxHash64 of "*", which is the spelling of no tag.
const AnyTag uint64 = 0x0a9edecebeb03ae4

// ErrScope is wrapped by every error about a scope that cannot be used.
var ErrScope = errors.New("invalidate: bad scope")

// Kind tells the scopes apart.
type Kind uint8

// The kinds of scopes. The zero Kind is no scope.
const (
	KindKey Kind = iota + 1
	KindPrefix
	KindTag
	KindAll

	kindStrict
	kindHold
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
	case kindStrict, kindHold:
	}
	return "none"
}

// MaxHold is the longest [Hold].
const MaxHold = time.Hour

// Scope is what one invalidation covers: made by [Key], [Prefix], [Tag], [Tenant] or
// [All], or by the methods of a cache.Cache. [Strict] and [Hold] are passed beside scopes
// and say how they are invalidated. It is a small comparable value; the zero Scope is
// refused by Validate.
type Scope struct {
	kind   Kind
	tenant string
	text   string
	hold   time.Duration
	fault  *fault // not nil: why it cannot be used
}

// fault is why a scope cannot be used, found when it was made.
type fault struct{ err error }

// Strict makes the call that it is passed to, among its scopes, wait until no process
// can serve what they cover any more: until every lease that may predate it has
// ended, which takes the log's bound. Without a log there is nobody to wait for.
var Strict = Scope{kind: kindStrict}

// Hold keeps what a call covers, among whose scopes it is, from being
// cached for d, in every process: for sources that are read from replicas that lag
// behind by up to d. Loads go on and answer their callers. d is between 1 ms
// and [MaxHold], and is rounded up to milliseconds.
//
// A process keeps 262,144 live holds of each kind of scope, in some 40 MB. Beyond that a
// hold of a tag holds everything with a tag, and one of a key or a prefix holds everything,
// for as long as it lasts; FenceStats.HoldsWidened counts them. After the remote marker of
// Nishtala et al., Scaling Memcache at Facebook, NSDI 2013.
func Hold(d time.Duration) Scope {
	if rest := d % time.Millisecond; rest > 0 {
		d += time.Millisecond - rest
	}
	return Scope{kind: kindHold, hold: d}
}

// Key covers one key.
func Key(k key.Key) Scope { return Scope{kind: KindKey, text: k.String()} }

// Prefix covers every key of tenant whose spelling behind the tenant starts with prefix:
// Prefix("acme", "users:v1:") covers the namespace "users:v1" and those that start with
// "users:v1:". Ids are spelled by key.Text. The methods Prefix and All of a cache.Cache
// spell the tenant, the namespace and the id themselves. An empty prefix is refused; to
// cover all that a tenant has use [Tenant].
func Prefix(tenant, prefix string) Scope {
	s := Scope{kind: KindPrefix, tenant: tenant, text: tenant + ":" + prefix}
	if prefix == "" {
		s.fault = &fault{fmt.Errorf("%w: prefix is empty: Tenant covers all keys of a tenant, All those of all tenants", ErrScope)}
	}
	return s
}

// Tenant covers every key of a tenant, in all namespaces.
func Tenant(tenant string) Scope { return Scope{kind: KindPrefix, tenant: tenant, text: tenant + ":"} }

// Invalid is a scope that cannot be used, for packages that make scopes: Validate, and
// with it every call that the scope is passed to, fails with err, which must not be nil.
func Invalid(err error) Scope {
	return Scope{fault: &fault{fmt.Errorf("%w: %w", ErrScope, err)}}
}

// All covers every key of every tenant.
func All() Scope { return Scope{kind: KindAll} }

// Tag covers everything of any namespace that carries tag for tenant. Tags of
// two tenants never meet, also when they are spelled alike.
func Tag(tenant, tag string) Scope { return Scope{kind: KindTag, tenant: tenant, text: tag} }

// Kind returns the kind of scope; zero for the zero Scope, Strict and Hold.
func (s Scope) Kind() Kind {
	if s.kind > KindAll {
		return 0
	}
	return s.kind
}

// Text returns the key's or prefix's spelling, or the tag without its tenant.
func (s Scope) Text() string { return s.text }

// Tenant returns the tenant of what the scope covers, and "" for All, Strict and Hold.
func (s Scope) Tenant() string {
	if s.kind == KindKey {
		tenant, _, _ := strings.Cut(s.text, ":")
		return tenant
	}
	return s.tenant
}

// Hash returns the 64-bit hash that stands for the scope in cells and records:
// xxHash64 of its spelling; 0 for [All]. Two scopes that share one cause extra misses
// and nothing worse.
func (s Scope) Hash() uint64 {
	switch s.kind {
	case KindKey, KindPrefix:
		return xxhash.Sum64String(s.text)
	case KindTag:
		return tagHash(s.tenant, s.text)
	case KindAll, kindStrict, kindHold:
	}
	return 0
}

// String returns the scope for a person, such as "prefix acme:users:". A text that is too
// long for a scope is cut.
func (s Scope) String() string {
	switch {
	case s.kind == KindTag:
		return "tag " + quoted(s.tenant) + ":" + quoted(s.text)
	case s.kind == KindAll:
		return "everything"
	case s == Strict:
		return "strict"
	case s.kind == 0 && s.fault != nil:
		return "invalid scope"
	case s.kind == kindHold:
		return "hold for " + s.hold.String()
	}
	return s.kind.String() + " " + quoted(s.text)
}

// quoted returns text as an error may repeat it.
func quoted(text string) string {
	if len(text) <= key.MaxLen {
		return text
	}
	return fmt.Sprintf("%.64s… (%d bytes)", text, len(text))
}

// Validate reports why a scope cannot be used; its errors wrap [ErrScope].
func (s Scope) Validate() error {
	if s.fault != nil {
		return s.fault.err
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
	case KindAll, kindStrict:
	case kindHold:
		if s.hold < time.Millisecond || s.hold > MaxHold {
			return fmt.Errorf("%w: hold of %v is not between 1ms and %v", ErrScope, s.hold, MaxHold)
		}
	default:
		return fmt.Errorf("%w: zero Scope; make one by Key, Prefix, Tag, Tenant or All", ErrScope)
	}
	return nil
}

// validateTenant checks the tenant of a scope. What says which kind of scope it is.
func validateTenant(what, tenant string) error {
	switch {
	case tenant == "":
		return fmt.Errorf("%w: tenant of %s is empty: pass cache.DefaultTenant for caches that name none", ErrScope, what)
	case strings.Contains(tenant, ":"):
		return fmt.Errorf("%w: tenant of %s has a colon in its %d bytes: the first argument is the tenant alone",
			ErrScope, what, len(tenant))
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
