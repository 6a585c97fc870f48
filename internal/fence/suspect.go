package fence

import (
	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// Keyed is a cached entry that can return its full key. The fences ask for it when the entry's
// bucket of the key clock has moved since the last check, or when prefixes are fenced. They do not
// ask when Since has answered, so an entry need not keep the key.
type Keyed interface {
	// FullKey returns the entry's full key, the same every time. An entry that cannot tell returns
	// "", and counts as covered.
	FullKey() string
}

// Deps is what a value depends on beside its own key. A nil Deps is nothing.
//
// A value that a loader built from other cached values has the hashes of their keys, and of what
// its parts were built from themselves. A fence of one of these keys covers it. A fence of a prefix
// covers it by the part of the prefix up to its last colon: that is a prefix of each key that the
// fence covers, and Prefixes has it. So a built value may end early by a prefix, and never late.
type Deps struct {
	Tags     []uint64 // hashes of tags; AnyTag: of any tag
	Keys     []uint64 // hashes of the keys of its parts; AnyTag: any key and any prefix
	Prefixes []uint64 // hashes of every prefix of those keys that ends with a colon, except the key's id
}

func (d *Deps) tags() []uint64 {
	if d == nil {
		return nil
	}
	return d.Tags
}

// built reports whether the value has parts.
func (d *Deps) built() bool { return d != nil && len(d.Keys) > 0 && !safeguard.Off(safeguard.Keys) }

// anyKey reports whether the value has more parts than Keys can name.
func (d *Deps) anyKey() bool { return d.Keys[0] == invalidate.AnyTag }

// suspect is an entry, or a loaded value, of this process that a fence may cover.
type suspect struct {
	born uint64
	key  string // with hash; "": of returns it on demand
	hash uint64
	of   Keyed
	low  uint32 // of hash
	deps *Deps

	fresh int64 // when the newest soft fence that covers it was applied, or Forever
}

// spell makes sure that the key is known, if possible, and reports whether it is.
func (s *suspect) spell() bool {
	if s.key == "" && s.of != nil {
		s.key = s.of.FullKey()
		s.hash = xxhash.Sum64String(s.key)
	}
	return s.key != ""
}
