package fence_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
)

// partOf returns the part of a key's namespace.
func partOf(key string) uint16 {
	tenant, rest, _ := strings.Cut(key, ":")
	namespace, _, _ := strings.Cut(rest, ":")
	return fence.PartOf(tenant + ":" + namespace + ":")
}

// A caller that notes the generation at which an entry was found clear, and calls Since, decides as
// Clear does. Since may make it look again without need, but never misses a fence.
func TestSince(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := fence.New(start)
		key := rapid.SampledFrom([]string{"acme:users:1", "acme:users:2", "acme:teams:1", "bolt:users:1"})
		scope := rapid.OneOf(
			rapid.Map(key, func(k string) invalidate.Scope { return invalidate.Key(fencetest.KeyOf(t, k)) }),
			rapid.SampledFrom([]invalidate.Scope{
				invalidate.Prefix("acme", "users:"), invalidate.Prefix("acme", "users:1"), invalidate.Prefix("acme", "us"), invalidate.Tenant("bolt"), invalidate.Tag("acme", "t"), invalidate.Tag("bolt", "t"), invalidate.All(),
			}),
		)
		type remembered struct {
			*fencetest.Entry
			gen uint64
		}
		var all []remembered
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 2).Draw(rt, "step") {
			case 0:
				gen := f.Generation()
				if e := fencetest.New(f, key.Draw(rt, "key"), "t"); e.Clear(f) {
					all = append(all, remembered{e, gen})
				}
			case 1:
				f.Fence(scope.Draw(rt, "scope"))
			case 2:
				f.Flush()
			}
			for _, r := range all {
				if covered := !r.Clear(f); covered && !f.Since(r.gen, uint32(r.Hash), partOf(r.Key)) && !f.DepsSince(r.gen, r.Tags) {
					rt.Fatalf("%s is covered, and nothing is known since generation %d", r.Key, r.gen)
				}
			}
		}
	})
}

// Fences of other keys do not cause another look at an entry.
func TestSinceTellsKeysApart(t *testing.T) {
	f := fence.New(start)
	e, gen := fencetest.New(f, "acme:users:1"), f.Generation()
	again := 0
	for i := range 1000 {
		f.Fence(invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("acme:others:", i))))
		if f.Since(gen, uint32(e.Hash), partOf(e.Key)) {
			again++
		}
	}
	if again > 0 { // none of these keys is in its group, and hashes don't change
		t.Errorf("to look again %d times in 1,000", again)
	}
	f.Fence(invalidate.Key(fencetest.KeyOf(t, "acme:users:1")))
	if !f.Since(gen, uint32(e.Hash), partOf(e.Key)) {
		t.Error("its own fence is not known")
	}
}

// Fences of other tags do not cause another look at an entry. A fence of its own tag does, and one
// of any tag if the entry depends on all.
func TestSinceTellsTagsApart(t *testing.T) {
	f := fence.New(start)
	tagged, plain, gen := fencetest.New(f, "acme:users:1", "a", "b"), fencetest.New(f, "acme:users:2"), f.Generation()
	anyTag := &fence.Deps{Tags: []uint64{invalidate.AnyTag}}
	again := 0
	for i := range 100 {
		f.Fence(invalidate.Tag("acme", fmt.Sprint("other:", i)))
		if f.DepsSince(gen, tagged.Tags) {
			again++
		}
	}
	if again > 0 {
		t.Errorf("to look again %d times in 100", again)
	}
	if !f.DepsSince(gen, anyTag) {
		t.Error("an entry of any tag does not know of the fences")
	}
	f.Fence(invalidate.Tag("acme", "b"))
	if !f.DepsSince(gen, tagged.Tags) {
		t.Error("the fence of its own tag is not known")
	}
	if f.Since(gen, uint32(plain.Hash), partOf(plain.Key)) || f.DepsSince(gen, plain.Tags) {
		t.Error("an entry without tags has to look again")
	}
	f.Fence(invalidate.Prefix("acme", "users:"))
	if !f.Since(gen, uint32(plain.Hash), partOf(plain.Key)) {
		t.Error("the fence of a prefix is not known")
	}
}

// Prefixes of other namespaces do not cause another look at an entry, unless it was built from other
// entries. A prefix of its own namespace does, and so does one that ends before the namespace.
func TestSinceTellsNamespacesApart(t *testing.T) {
	for name, c := range map[string]struct {
		prefix invalidate.Scope
		again  bool
	}{
		"another namespace":       {invalidate.Prefix("acme", "teams:"), false},
		"an id of another":        {invalidate.Prefix("acme", "teams:v1:7"), false},
		"its namespace":           {invalidate.Prefix("acme", "users:"), true},
		"a longer one":            {invalidate.Prefix("acme", "users:v1:7"), true},
		"an id of its own":        {invalidate.Prefix("acme", "users:1"), true},
		"a part of its namespace": {invalidate.Prefix("acme", "us"), true},
		"of another part":         {invalidate.Prefix("acme", "te"), true}, // no one can tell
		"its tenant":              {invalidate.Tenant("acme"), true},
		"everything":              {invalidate.All(), true},
	} {
		f := fence.New(start)
		plain, built, gen := fencetest.New(f, "acme:users:1"), fencetest.New(f, "acme:pages:1"), f.Generation()
		built.Tags = &fence.Deps{Keys: []uint64{plain.Hash}}
		f.Fence(c.prefix)
		if again := f.Since(gen, uint32(plain.Hash), partOf(plain.Key)); again != c.again {
			t.Errorf("%s: look again %v, want %v", name, again, c.again)
		}
		if !f.Since(gen, uint32(built.Hash), partOf(built.Key)) && !f.DepsSince(gen, built.Tags) {
			t.Errorf("%s: a built entry does not look again", name)
		}
	}
}
