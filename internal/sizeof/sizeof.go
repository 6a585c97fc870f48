// Package sizeof estimates how many bytes of memory a Go value keeps alive, because the local tier
// has a budget in bytes.
//
// [Of] inspects a type once and returns a function for its values. The size of a type without
// pointers is a constant. Any other value is walked, by reflection and without package unsafe:
//
//   - The result is the value's own size plus the heap blocks behind it, each
//     rounded up as the allocator rounds it.
//   - A slice counts its whole capacity, and what its elements point to up to its
//     length. A map counts its table, by the current number of entries.
//   - Memory that the value shares is counted as if it were its own: a substring by
//     its length, a block reached over two pointers twice. If the type can be cyclic
//     or holds interfaces, every block counts once.
//   - Channels, functions, unsafe pointers and the types of packages such as
//     sync and time count by their own size: the memory behind them is shared, or
//     must not be read without a lock.
//   - A walk visits at most about ten thousand elements. Larger values are
//     sampled: evenly over a slice, at random over a map, and every branch gets its
//     share of the visits.
//
// A walk only reads, never panics, and ends on cyclic values. Other goroutines
// may read the value meanwhile; none may write to it.
package sizeof

import "reflect"

const (
	// visitBudget bounds a walk to well under a millisecond.
	visitBudget = 10_000
	// maxDepth bounds the stack: deeper parts are postponed, not left out.
	maxDepth = 16
	// maxSize caps the result. Only a slice that contains itself many times could exceed it.
	maxSize = 1 << 50
)

// Of returns a function that estimates the bytes kept alive by a value of type t, including the
// value itself. It gets a pointer to the value, not nil. The function is safe for concurrent use and
// never returns a negative number.
func Of(t reflect.Type) func(ptr any) int64 {
	p := planOf(t)
	if p.shape == fixed {
		return func(any) int64 { return p.size }
	}
	cyclic := p.cyclic()
	return func(ptr any) int64 {
		w := walker{left: visitBudget, weight: 1, total: float64(p.size)}
		if cyclic {
			w.seen = make(map[block]struct{})
		}
		w.run(p, reflect.ValueOf(ptr).Elem())
		return int64(min(w.total, maxSize))
	}
}
