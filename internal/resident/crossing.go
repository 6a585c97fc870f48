package resident

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/fault"
)

// Loads reports whether f, or a load around it, loads this key.
func (f *Fill) Loads(t *FillTiers, text string) bool {
	for ; f != nil; f = f.parent {
		if !f.done.Load() && f.tiers == t && (f.text == text || slices.Contains(f.also, text)) {
			return true
		}
	}
	return false
}

// crossing protects the waits of loaders. Only a read inside a loader locks it.
var crossing struct {
	sync.Mutex
	searches uint64
}

// Await notes that f's loader waits for a flight, whose latest load is at. If that load waits
// for f, neither would ever end, and Await returns ErrRecursive.
func (f *Fill) Await(at *atomic.Pointer[Fill]) error {
	crossing.Lock()
	defer crossing.Unlock()
	crossing.searches++
	if at.Load().reaches(f) {
		return fault.ErrRecursive
	}
	f.awaits = append(f.awaits, at)
	return nil
}

// reaches reports whether f is g or waits for it, perhaps through other loads. A search visits
// each load once, because there may be far more paths than loads.
func (f *Fill) reaches(g *Fill) bool {
	if f == nil || f == g {
		return f != nil
	}
	if f.seenIn == crossing.searches {
		return false
	}
	f.seenIn = crossing.searches
	return slices.ContainsFunc(f.awaits, func(at *atomic.Pointer[Fill]) bool { return at.Load().reaches(g) })
}

// Awaited undoes Await of f, or of a load around it if f had ended by then.
func (f *Fill) Awaited(at *atomic.Pointer[Fill]) {
	if f == nil {
		return
	}
	crossing.Lock()
	defer crossing.Unlock()
	for ; f != nil; f = f.parent {
		if i := slices.Index(f.awaits, at); i >= 0 {
			f.awaits = slices.Delete(f.awaits, i, i+1)
			return
		}
	}
}
