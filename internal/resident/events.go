package resident

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// Told reports an invalidation or Expire of this process.
func (t *Core) Told(r fence.Request) {
	if t.Listeners.Any() {
		t.Listeners.Tell(invalidate.Event{Local: true, Fences: r.Fences()})
	}
}

// heard reports an invalidation or Expire of another process.
func (t *Core) heard(fences []invalidate.Fence) {
	if t.Listeners.Any() {
		t.Listeners.Tell(invalidate.Event{Fences: fences})
	}
}
