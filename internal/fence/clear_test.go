package fence_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
)

// An entry that cannot return its key counts as covered as soon as the key matters.
func TestEntryWithoutAKey(t *testing.T) {
	f := fence.New(start)
	e := fencetest.New(f, "acme:users:v1:42")
	mute := *e
	mute.Key = ""
	f.Fence(invalidate.Tag("acme", "other"))
	if !mute.Clear(f) {
		t.Error("covered by a tag that it does not have")
	}
	f.Fence(invalidate.Tenant("bolt"))
	if mute.Clear(f) || !e.Clear(f) {
		t.Error("a prefix was fenced: want the mute entry covered, and the other one clear")
	}
	g := fence.New(start)
	g.Fence(invalidate.Key(fencetest.KeyOf(t, e.Key)))
	if mute.Clear(g) {
		t.Error("its own key was fenced: want it covered")
	}
}

// An entry that is stored while a walk is under way notes the newest tick, because the walk may have
// passed its place. One that no walk concerns keeps its tick.
func TestClearNow(t *testing.T) {
	f := fence.New(start)
	e := fencetest.New(f, "acme:users:v1:42")
	f.Fence(invalidate.Key(fencetest.KeyOf(t, "acme:users:v1:7")))
	if tick, _, ok := f.ClearNow(e.Born, e.Hash, e.Key, e.Tags); !ok || tick != e.Born {
		t.Errorf("without a walk: tick %d, clear %v; want the tick of its mark, %d", tick, ok, e.Born)
	}
	f.Survey()
	if tick, _, ok := f.ClearNow(e.Born, e.Hash, e.Key, e.Tags); !ok || tick != f.Tick() {
		t.Errorf("during a walk: tick %d, clear %v; want the newest tick, %d", tick, ok, f.Tick())
	}
	f.FenceKey(e.Hash)
	if _, _, ok := f.ClearNow(e.Born, e.Hash, e.Key, e.Tags); ok {
		t.Error("its key was fenced: want it covered")
	}
}

// start is the origin for fences whose times do not matter.
var start = time.Now()
