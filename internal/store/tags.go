package store

import (
	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/filling"
	"github.com/twofold-go/twofold/invalidate"
)

// SetTags adds to an item's tags its own, the call's and the recorded ones. With the recorded
// tags it takes the age of the oldest part.
func (j *Job) SetTags(it *entry.Entry, own []string, f *filling.Facts) {
	tenant := j.View.Space.Tenant
	for _, names := range [][]string{own, j.Opts.Tags} {
		for _, n := range names {
			tag := invalidate.Tag(tenant, n)
			if tag.Validate() != nil {
				f.BadTag = true
				continue
			}
			it.Own().Add(tag.Hash(), j.Core.Fills.Spell(tenant, n))
		}
	}
	for i, hash := range f.Tags {
		it.Own().Add(hash, f.TextOf(i))
	}
	if len(f.Keys) > 0 {
		it.Own().Join(&f.Deps)
	}
	if older := it.LoadedAt - f.Vouched; older > 0 {
		it.Own().PartsOlder = older
	}
}
