package invalidate_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate"
)

// An entry that cannot tell its key is believed to be covered as soon as the key matters.
func TestEntryWithoutAKey(t *testing.T) {
	f := invalidate.NewFences()
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
	g := invalidate.NewFences()
	g.Fence(invalidate.Key(keyOf(t, e.key)))
	if mute.clear(g) {
		t.Error("its own key was fenced: want it covered")
	}
}
