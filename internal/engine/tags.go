package engine

import (
	"slices"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// tagSet holds what a value depends on: the hashes of its tags, and of the keys and prefixes of its
// parts. Fences compare them and cells carry them. It holds the texts of the tags only if OnStored
// needs them. A value that another process loaded has no texts. Once an item has them, the lists of
// its parts are sorted and do not change; items may share them.
type tagSet struct {
	fence.Deps
	texts []string // of the first tags; "" if unknown; see textOf
}

// add adds a tag once. If a cell cannot hold all tags, AnyTag replaces the last tag and the
// rest.
func (s *tagSet) add(hash uint64, text string) {
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

// many reports whether the set stands for more tags or parts than it holds.
func (s *tagSet) many() bool { return s.manyTags() || s.manyParts() }

func (s *tagSet) manyTags() bool {
	return len(s.Tags) == tier.MaxTags && slices.Contains(s.Tags, invalidate.AnyTag)
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
	c := tagSet{Deps: s.Deps, texts: slices.Clip(s.texts)}
	c.Tags = slices.Clip(s.Tags)
	return c
}

// spellTag returns the text of a tag for OnStored, or "" without an OnStored.
func (t *Core) spellTag(tenant, tag string) string {
	if t.cfg.OnStored == nil {
		return ""
	}
	return tenant + ":" + tag
}

// setTags adds to an item's tags its own, the call's and the recorded ones. With the recorded
// tags it takes the age of the oldest part.
func (j *Job) setTags(it *Entry, own []string, f *facts) {
	tenant := j.v.Space.Tenant
	for _, names := range [][]string{own, j.o.Tags} {
		for _, n := range names {
			tag := invalidate.Tag(tenant, n)
			if tag.Validate() != nil {
				f.badTag = true
				continue
			}
			it.own().add(tag.Hash(), j.t.spellTag(tenant, n))
		}
	}
	for i, hash := range f.Tags {
		it.own().add(hash, f.textOf(i))
	}
	if len(f.Keys) > 0 {
		it.own().join(&f.Deps)
	}
	if older := it.loadedAt - f.vouched; older > 0 {
		it.own().older = older
	}
}
