package fence

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// NewSmall returns fences that remember only a few of each kind: size in a block.
func NewSmall(size int) *Fences {
	f := New(time.Now())
	f.block = size
	f.Expect(0)
	return f
}

// Skip acts as if n fences had been stored.
func (f *Fences) Skip(n uint64) { f.tick.Add(n) }

// Fence is Apply for scopes that are not soft. It does not wait.
func (f *Fences) Fence(scopes ...invalidate.Scope) {
	for _, s := range scopes {
		f.Store(invalidate.Fence{Scope: s}, f.next())
	}
}

// Flush is Fence for everything.
func (f *Fences) Flush() { f.Fence(invalidate.All()) }
