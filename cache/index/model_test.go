package index_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache/index"
)

const modelEntries, modelPairs = 5, 12

// naive is a model of an index: it searches a list.
type naive struct {
	indexed []*entry // oldest first
	missing []*entry
}

func (n *naive) stored(e *entry) {
	if s := n.stats(); s.Entries+1 > modelEntries || s.Pairs+len(e.tags) > modelPairs {
		n.missing = append(n.missing, e)
		return
	}
	n.indexed = append(n.indexed, e)
}

func (n *naive) removed(e *entry) {
	is := func(other *entry) bool { return other == e }
	n.indexed = slices.DeleteFunc(n.indexed, is)
	n.missing = slices.DeleteFunc(n.missing, is)
}

func (n *naive) keysOf(tag string) (keys []string) {
	for _, e := range n.indexed {
		if e.Alive() && slices.Contains(e.tags, tag) {
			keys = append(keys, e.key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (n *naive) tagsOf(key string) (tags []string) {
	for _, e := range slices.Backward(n.indexed) {
		if e.key == key && e.Alive() {
			for _, tag := range e.tags {
				tags = append(tags, "acme:"+tag)
			}
			slices.Sort(tags)
			break
		}
	}
	return tags
}

func (n *naive) stats() index.Stats {
	s, tags := index.Stats{Entries: len(n.indexed), Missing: len(n.missing)}, map[string]bool{}
	for _, e := range n.indexed {
		s.Pairs += len(e.tags)
		for _, tag := range e.tags {
			tags[tag] = true
		}
	}
	s.Tags = len(tags)
	return s
}

func TestModel(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	rapid.Check(t, func(t *rapid.T) {
		x := index.New(index.Config{MaxEntries: modelEntries, MaxPairs: modelPairs})
		n := &naive{}
		anyName := rapid.SampledFrom(names)
		anyEntry := func(t *rapid.T) *entry {
			there := slices.Concat(n.indexed, n.missing)
			if len(there) == 0 {
				t.Skip("nothing is there")
			}
			return rapid.SampledFrom(there).Draw(t, "entry")
		}
		t.Repeat(map[string]func(*rapid.T){
			"stored": func(t *rapid.T) {
				tags := rapid.SliceOfNDistinct(anyName, 0, 6, rapid.ID[string]).Draw(t, "tags")
				n.stored(store(x, anyName.Draw(t, "key"), tags...))
			},
			"removed": func(t *rapid.T) {
				e := anyEntry(t)
				remove(x, e)
				n.removed(e)
			},
			"dies": func(t *rapid.T) { anyEntry(t).dead.Store(true) },
			"":     func(t *rapid.T) { compare(t, x, n, names) },
		})
	})
}

func compare(t *rapid.T, x *index.Index, n *naive, names []string) {
	for _, name := range names {
		if got, want := keysOf(x, name), n.keysOf(name); !slices.Equal(got, want) {
			t.Fatalf("KeysOf(%q) = %q, want %q", name, got, want)
		}
		if got, want := x.TagsOf(name), n.tagsOf(name); !slices.Equal(got, want) {
			t.Fatalf("TagsOf(%q) = %q, want %q", name, got, want)
		}
	}
	if got, want := x.Stats(), n.stats(); got != want {
		t.Fatalf("Stats() = %+v, want %+v", got, want)
	}
}
