package engine

import (
	"context"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/entry"
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
	f.Keys, f.Prefixes = entry.Distinct(f.Keys), entry.Distinct(f.Prefixes)
	f.LimitParts()
	f.distinct = len(f.Keys) + len(f.Prefixes)
}

// dependOn makes the load depend on a key of a view, whatever its read gives. A load is no part of
// its own value.
func (f *Fill) dependOn(v *View, text string) {
	if f == nil || text == "" || f.t == v.t && f.text == text && len(f.also) == 0 {
		return
	}
	hash := [...]uint64{xxhash.Sum64String(text)}
	f.edit(func() { f.gather(hash[:], v.prefixes()) })
}

// dependOn makes the load under ctx depend on the job's key, whose read gave no value. A key that
// cannot be spelled cannot be invalidated, either.
func (j *Job) dependOn(ctx context.Context) {
	if loading.Load() != 0 && Filling(ctx) != nil && j.spell() == nil {
		Filling(ctx).dependOn(j.v, j.FullKey())
	}
}

// prefixes returns the hashes of all prefixes that end with a colon and that every key of the view
// has.
func (v *View) prefixes() []uint64 {
	if p := v.stems.Load(); p != nil {
		return *p
	}
	var p []uint64
	for i, c := range []byte(v.Name) {
		if c == ':' {
			p = append(p, xxhash.Sum64String(v.Name[:i+1]))
		}
	}
	p = append(p, xxhash.Sum64String(v.Name+":"))
	v.stems.Store(&p)
	return p
}
