package index_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
)

// counted is an entry that was built from others. The index asks it under its lock.
type counted struct {
	*entry
	visited *int // entries since the last call of Alive, which is made without the lock
	most    *int
	alive   func()
}

func (c *counted) Built() bool { return true }

func (c *counted) BuiltFrom(invalidate.Scope) bool {
	*c.visited++
	*c.most = max(*c.most, *c.visited)
	return true
}

func (c *counted) Alive() bool {
	*c.visited = 0
	c.alive()
	return true
}

// A look-up over many entries holds the lock for few of them at a time, so stores go on meanwhile. It
// finds all entries that were there when it began, also if the index shrinks or entries are replaced.
func TestLookUpInParts(t *testing.T) {
	const entries = 10_000
	one, err := key.Parse("acme:users:1")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]invalidate.Scope{
		"a key": invalidate.Key(one), "a prefix": invalidate.Prefix("acme", "other:"), "all": invalidate.All(), // the entries were built from what the first two name
	} {
		t.Run(name, func(t *testing.T) {
			x := index.New(index.Config{})
			visited, most, once := 0, 0, true
			var stays, leaves []cache.Entry
			var want []string
			add := func(to *[]cache.Entry, id string, alive func()) {
				e := &counted{newEntry("acme:users:" + id), &visited, &most, alive}
				x.Stored(e)
				*to = append(*to, e)
			}
			during := func() {
				if !once {
					return
				}
				once = false
				for _, e := range leaves {
					x.Removed(e, tier.Evicted)
				}
				for _, old := range stays { // a newer entry replaces each
					x.Stored(&counted{newEntry(old.Key()), &visited, &most, func() {}})
					x.Removed(old, tier.Replaced)
				}
			}
			for i := range entries {
				add(&leaves, "left"+strconv.Itoa(i), during)
			}
			for i := range entries / 10 {
				add(&stays, "stays"+strconv.Itoa(i), during)
				want = append(want, "acme:users:stays"+strconv.Itoa(i))
			}
			got := x.KeysOf(s)
			if most > 1024 {
				t.Errorf("%d entries in one part, want at most 1,024", most)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, slices.DeleteFunc(got, func(k string) bool { return strings.HasPrefix(k, "acme:users:left") })); diff != "" {
				t.Errorf("entries that stay (-want +got):\n%s", diff)
			}
			if n := x.Stats().Entries; n != len(stays) || once {
				t.Errorf("%d entries are left, want %d", n, len(stays))
			}
		})
	}
}
