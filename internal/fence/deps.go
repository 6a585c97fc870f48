package fence

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// Deps is what a value depends on besides its own key and namespace. A nil Deps is nothing.
//
// A value that a loader built from other cached values has the hashes of their keys, and of what its parts
// were built from themselves. An invalidation of one of these keys covers it. An invalidation of a prefix
// covers it by the part of the prefix up to its last colon: that is a prefix of each key that the
// invalidation covers, and Prefixes has it. So a built value may end early by a prefix, and never late.
type Deps struct {
	Tags     []uint64 // hashes of tags; AnyTag: of any tag
	Keys     []uint64 // hashes of the keys of its parts; AnyTag: any key and any prefix
	Prefixes []uint64 // hashes of every prefix of those keys that ends with a colon
}

// built reports whether the value has parts.
func (d *Deps) built() bool { return d != nil && len(d.Keys) > 0 && !safeguard.Off(safeguard.Keys) }

func (d *Deps) len() int {
	if d == nil {
		return 0
	}
	return len(d.Tags) + len(d.Keys) + len(d.Prefixes)
}

// Subject is an entry, a loaded value or a frame that is compared with invalidations.
type Subject struct {
	Hash uint64 // of Key
	Key  string // the full key
	On   *Deps
}

// dependency is one scope, besides the key and the namespace, that can end a subject.
type dependency struct {
	id uint64
	kind
	any bool // any scope of that kind
}

// each calls do for what can end the subject besides its own key and its namespace, until do returns false.
// stem is the length of the part of the key that its namespace spells.
func (s *Subject) each(stem int, do func(dependency) bool) bool {
	if s.On != nil {
		for _, h := range s.On.Tags {
			if !do(dependency{idOf(ofTag, h), ofTag, h == invalidate.AnyTag}) {
				return false
			}
		}
	}
	if s.On.built() {
		for _, h := range s.On.Keys {
			if !do(dependency{idOf(ofKey, h), ofKey, h == invalidate.AnyTag}) {
				return false
			}
		}
		for _, h := range s.On.Prefixes {
			if !do(dependency{idOf(ofStem, h), ofStem, h == invalidate.AnyTag}) {
				return false
			}
		}
	}
	for i := stem; ; { // an id seldom has a colon
		n := strings.Index(s.Key[min(i, len(s.Key)):], colon)
		if n < 0 {
			return true
		}
		i += n + len(colon)
		if !do(dependency{idOf(ofStub, xxhash.Sum64String(s.Key[:i])), ofStub, false}) {
			return false
		}
	}
}
