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
	f.block = size
	f.Expect(0)
	return f
}

// Now returns the time since the origin.
func (f *Fences) Now() int64 { return f.now() }

// Skip acts as if n fences had been stored.
func (f *Fences) Skip(n uint64) { f.tick.Add(n) }
