package resident

import (
	"slices"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// A set with too many parts still tells that it has too many tags. The lists of parts that items
// share do not change.
func TestTagSetLimits(t *testing.T) {
	var f Fill
	for range 2 { // each part is read twice
		for i := range uint64(tier.MaxParts) {
			f.gather([]uint64{i * 0x9e3779b97f4a7c15}, nil)
			if len(f.Keys) > 2*tier.MaxParts+100 {
				t.Fatalf("%d hashes are gathered", len(f.Keys))
			}
		}
	}
	said := f.Close()
	if len(said.Keys) != tier.MaxParts || !slices.IsSorted(said.Keys) {
		t.Fatalf("%d keys, sorted %v; want %d", len(said.Keys), slices.IsSorted(said.Keys), tier.MaxParts)
	}
	var a, b TagSet
	a.Join(&said.Deps)
	b.Join(&said.Deps)
	b.Join(&tagSetOf(1).Deps)
	if len(a.Keys) != tier.MaxParts || a.Many() || !b.Many() || !b.ManyParts() {
		t.Errorf("a has %d keys, b %v; want all of them, and any key", len(a.Keys), b.Keys)
	}
	for i := range uint64(tier.MaxTags + 1) {
		b.Add(i+1, "")
	}
	if !slices.Contains(b.Tags, invalidate.AnyTag) {
		t.Error("too many tags, and AnyTag is not among them")
	}
}

func tagSetOf(key uint64) *TagSet {
	s := new(TagSet)
	s.Keys = []uint64{key}
	return s
}
