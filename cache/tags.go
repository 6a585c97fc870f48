package cache

import (
	"slices"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// tagSet holds the tags of a value as hashes, which fences compare and cells carry. It holds
// their texts only if OnStored needs them. A value that another process loaded has no texts.
type tagSet struct {
	tags  []uint64
	texts []string // of the first tags; "" if unknown; see textOf
}

// add adds a tag once. If a cell cannot hold all tags, AnyTag replaces the last tag and the
// rest.
func (s *tagSet) add(hash uint64, text string) {
	if slices.Contains(s.tags, hash) {
		return
	}
	if len(s.tags) == tier.MaxTags {
		if !s.many() { // the memory may be shared
			s.tags = append(slices.Clone(s.tags[:tier.MaxTags-1]), invalidate.AnyTag)
			s.texts = s.texts[:min(len(s.texts), tier.MaxTags-1)]
		}
		return
	}
	if text != "" {
		s.texts = append(append(s.texts, make([]string, len(s.tags)-len(s.texts))...), text)
	}
	s.tags = append(s.tags, hash)
}

// many reports whether the set stands for more tags than it holds.
func (s *tagSet) many() bool {
	return len(s.tags) == tier.MaxTags && slices.Contains(s.tags, invalidate.AnyTag)
}

// textOf returns the text of the i-th tag, or "" if it is unknown.
func (s *tagSet) textOf(i int) string {
	if i < len(s.texts) {
		return s.texts[i]
	}
	return ""
}

// clipped returns a set with the same tags. Adding to it does not change s.
func (s *tagSet) clipped() tagSet {
	return tagSet{tags: slices.Clip(s.tags), texts: slices.Clip(s.texts)}
}

// spellTag returns the text of a tag for OnStored, or "" without an OnStored.
func (t *Tiers) spellTag(tenant, tag string) string {
	if t.cfg.OnStored == nil {
		return ""
	}
	return tenant + ":" + tag
}

// setTags adds to an item's tags its own, the call's and the recorded ones. With the recorded
// tags it takes the age of the oldest part.
func (j *job[K, V]) setTags(it *item[K, V], own []string, f *facts) {
	tenant := j.v.space.Tenant
	for _, names := range [][]string{own, j.o.tags} {
		for _, n := range names {
			tag := invalidate.Tag(tenant, n)
			if tag.Validate() != nil {
				f.badTag = true
				continue
			}
			it.own().add(tag.Hash(), j.t.spellTag(tenant, n))
		}
	}
	for i, hash := range f.tags {
		it.own().add(hash, f.textOf(i))
	}
	if older := it.loadedAt - f.vouched; older > 0 {
		it.own().older = older
	}
}
