package resident

import (
	"github.com/cespare/xxhash/v2"
)

// A value that a loader builds from other cached values depends on their keys, on the prefixes of
// these keys, and on everything that those values depend on. So an invalidation that covers a part
// covers what was built from it. A key can be a part although its read gave no value: the load may
// have made something of its absence.

// gather adds parts. f.mu is held. Duplicates are dropped whenever the lists have doubled, so a load
// that reads many parts, or one part many times, takes little time and memory for each.
func (f *Fill) gather(keys, prefixes []uint64) {
	if f.ManyParts() {
		return
	}
	f.Keys, f.Prefixes = append(f.Keys, keys...), append(f.Prefixes, prefixes...)
	if n := len(f.Keys) + len(f.Prefixes); n > 2*f.distinct+64 {
		f.compact()
	}
}

// compact sorts what the Fill has gathered, and drops duplicates.
func (f *Fill) compact() {
	f.Keys, f.Prefixes = Distinct(f.Keys), Distinct(f.Prefixes)
	f.LimitParts()
	f.distinct = len(f.Keys) + len(f.Prefixes)
}

// DependOn makes the load depend on a key of some Tiers and on the prefixes that it has, even if its
// read gives no value. A load is no part of its own value.
func (f *Fill) DependOn(t *FillTiers, text string, prefixes []uint64) {
	if f == nil || text == "" || f.tiers == t && f.text == text && len(f.also) == 0 {
		return
	}
	hash := [...]uint64{xxhash.Sum64String(text)}
	f.edit(func() { f.gather(hash[:], prefixes) })
}
