package index_test

import (
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// entry is an entry without a cache. A tag that begins with "#" is only a hash; "*" is AnyTag.
type entry struct {
	key     string
	tags    []string
	spelled []spelling
	dead    atomic.Bool
}

type spelling struct {
	hash uint64
	text string
}

var _ cache.Entry = (*entry)(nil)

// newEntry returns an entry of tenant acme.
func newEntry(key string, tags ...string) *entry {
	e := &entry{key: key, tags: tags}
	for _, tag := range tags {
		name, unspelled := strings.CutPrefix(tag, "#")
		s := spelling{invalidate.Tag("acme", name).Hash(), "acme:" + name}
		if unspelled {
			s.text = ""
		}
		if tag == "*" {
			s = spelling{hash: invalidate.AnyTag}
		}
		e.spelled = append(e.spelled, s)
	}
	return e
}

func (e *entry) Key() string { return e.key }

func (e *entry) Tags() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for _, s := range e.spelled {
			if !yield(s.hash, s.text) {
				return
			}
		}
	}
}

func (e *entry) Alive() bool { return !e.dead.Load() }

func (e *entry) Age() time.Duration { return 0 }

func (e *entry) Stale() bool { return e.dead.Load() }

func store(x *index.Index, key string, tags ...string) *entry {
	e := newEntry(key, tags...)
	x.Stored(e)
	return e
}

func remove(x *index.Index, e *entry) { x.Removed(e, tier.Evicted) }

func keysOf(x *index.Index, tag string) []string { return x.KeysOf(invalidate.Tag("acme", tag)) }

func wantKeys(t *testing.T, x *index.Index, tag string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, keysOf(x, tag), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("KeysOf(%q) (-want +got):\n%s", tag, diff)
	}
}

func wantTags(t *testing.T, x *index.Index, key string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, x.TagsOf(key)); diff != "" {
		t.Errorf("TagsOf(%q) (-want +got):\n%s", key, diff)
	}
}

func wantStats(t *testing.T, x *index.Index, want index.Stats) {
	t.Helper()
	if got := x.Stats(); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
}
