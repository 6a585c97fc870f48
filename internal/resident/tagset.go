package resident

import (
	"slices"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// TagSet holds what a value depends on: the hashes of its tags, and of the keys and prefixes of its
// parts. Fences compare them and cells carry them. It holds the texts of the tags only if OnStored
// needs them. A value that another process loaded has no texts. Once an entry has them, the lists of
// its parts are sorted and do not change; entries may share them.
type TagSet struct {
	fence.Deps
	texts []string // of the first tags; "" if unknown; see TextOf
}

// Add adds a tag once. If a cell cannot hold all tags, AnyTag replaces the last tag and the
// rest.
func (s *TagSet) Add(hash uint64, text string) {
	if slices.Contains(s.Tags, hash) {
		return
	}
	if len(s.Tags) == tier.MaxTags {
		if !s.manyTags() { // the memory may be shared
			s.Tags = append(slices.Clone(s.Tags[:tier.MaxTags-1]), invalidate.AnyTag)
			s.texts = s.texts[:min(len(s.texts), tier.MaxTags-1)]
		}
		return
	}
	if text != "" {
		s.texts = append(append(s.texts, make([]string, len(s.Tags)-len(s.texts))...), text)
	}
	s.Tags = append(s.Tags, hash)
}

// Grow makes room for n more tags.
func (s *TagSet) Grow(n int) { s.Tags = slices.Grow(s.Tags, min(n, tier.MaxTags-len(s.Tags))) }

// Many reports whether the set stands for more tags or parts than it holds.
func (s *TagSet) Many() bool { return s.manyTags() || s.ManyParts() }

// HasTag reports whether an invalidation of the tag reaches the set.
func (s *TagSet) HasTag(hash uint64) bool { return slices.Contains(s.Tags, hash) || s.manyTags() }

func (s *TagSet) manyTags() bool {
	return len(s.Tags) == tier.MaxTags && slices.Contains(s.Tags, invalidate.AnyTag)
}

// TextOf returns the text of the i-th tag, or "" if it is unknown.
func (s *TagSet) TextOf(i int) string {
	if i < len(s.texts) {
		return s.texts[i]
	}
	return ""
}

// Clipped returns a set with the same tags. Adding to it does not change s.
func (s *TagSet) Clipped() TagSet {
	c := TagSet{Deps: s.Deps, texts: slices.Clip(s.texts)}
	c.Tags = slices.Clip(s.Tags)
	return c
}

// anything stands for more parts than a cell can carry: every key and every prefix.
var anything = fence.Deps{Keys: []uint64{invalidate.AnyTag}}

// ManyParts reports whether the set stands for more parts than it holds.
func (s *TagSet) ManyParts() bool { return len(s.Keys) == 1 && s.Keys[0] == invalidate.AnyTag }

// Join adds the parts of another set.
func (s *TagSet) Join(d *fence.Deps) {
	s.Keys, s.Prefixes = union(s.Keys, d.Keys), union(s.Prefixes, d.Prefixes)
	s.LimitParts()
}

// LimitParts replaces parts that a cell cannot carry. The lists have no duplicates.
func (s *TagSet) LimitParts() {
	if len(s.Keys)+len(s.Prefixes) > tier.MaxParts || len(s.Keys) > 1 && slices.Contains(s.Keys, invalidate.AnyTag) {
		s.Keys, s.Prefixes = anything.Keys, anything.Prefixes
	}
}

// union returns the hashes of both lists, sorted. It changes neither list, and may return one.
func union(a, b []uint64) []uint64 {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return Distinct(slices.Concat(a, b))
}

// Distinct sorts hashes and drops duplicates.
func Distinct(hashes []uint64) []uint64 {
	slices.Sort(hashes)
	return slices.Compact(hashes)
}
