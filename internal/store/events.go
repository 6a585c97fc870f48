package store

import (
	"slices"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// Told reports an invalidation or Expire of this process.
func (t *Core) Told(r fence.Request) {
	if t.Listeners.Any() {
		t.Listeners.Tell(invalidate.Event{Local: true, Scopes: slices.Clone(r.Scopes), Fences: r.Fences()})
	}
}

// heard reports an invalidation or Expire of another process.
func (t *Core) heard(fences []invalidate.Fence, names string) {
	if t.Listeners.Any() {
		scopes, unnamed := logwire.Read(names, fences)
		t.Listeners.Tell(invalidate.Event{Scopes: scopes, Unnamed: unnamed, Fences: fences})
	}
}
