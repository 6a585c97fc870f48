package store

import (
	"slices"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/lognames"
	"github.com/twofold-go/twofold/invalidate"
)

// OnInvalidate calls fn with each invalidation and Expire of this process and of others.
func (t *Core) OnInvalidate(fn func(invalidate.Event)) (stop func()) { return t.listeners.Add(fn) }

// Told reports an invalidation or Expire of this process.
func (t *Core) Told(r fence.Request) {
	if t.listeners.Any() {
		t.listeners.Tell(invalidate.Event{Local: true, Scopes: slices.Clone(r.Scopes), Fences: r.Fences()})
	}
}

// heard reports an invalidation or Expire of another process.
func (t *Core) heard(fences []invalidate.Fence, names string) {
	if t.listeners.Any() {
		scopes, unnamed := lognames.Read(names, fences)
		t.listeners.Tell(invalidate.Event{Scopes: scopes, Unnamed: unnamed, Fences: fences})
	}
}
