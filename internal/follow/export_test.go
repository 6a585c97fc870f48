package follow

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Store applies a fence in the form that a record carries.
func (f *Fences) Store(s invalidate.Fence, pos invalidate.Position) { f.store(s, pos) }

// NewSmallFences returns fences that remember only a few of each kind: size in a block.
func NewSmallFences(size int) *Fences {
	f := NewFences(time.Now())
	f.scopes.tags.size, f.scopes.prefixes.size = size, size
	f.soft.keys.size, f.soft.scopes.tags.size, f.soft.scopes.prefixes.size = size, size, size
	for i := range f.recent.shards {
		f.recent.shards[i].size = max(size/recentShards, 1)
	}
	return f
}
