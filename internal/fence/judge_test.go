package fence_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// An entry that cannot return its key counts as covered as soon as the key matters.
func TestEntryWithoutAKey(t *testing.T) {
	f := fence.New(start)
	e := newEntry(f, "acme:users:v1:42")
	mute := *e
	mute.key = ""
	f.Fence(invalidate.Tag("acme", "other"))
	if !mute.clear(f) {
		t.Error("covered by a tag that it does not have")
	}
	f.Fence(invalidate.Tenant("bolt"))
	if mute.clear(f) || !e.clear(f) {
		t.Error("a prefix was fenced: want the mute entry covered, and the other one clear")
	}
	g := fence.New(start)
	g.Fence(invalidate.Key(keyOf(t, e.key)))
	if mute.clear(g) {
		t.Error("its own key was fenced: want it covered")
	}
}

// start is the origin for fences whose times do not matter.
var start = time.Now()

func accepts(f *fence.Fences, m fence.Mark, hash uint64, key string, tags *fence.Deps) bool {
	_, ok := f.Accepts(m, hash, key, tags)
	return ok
}

func overtaken(f *fence.Fences, m fence.Mark, hash uint64, key string, tags *fence.Deps) bool {
	_, over := f.Overtaken(m, hash, key, tags)
	return over
}
