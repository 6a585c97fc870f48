package workload

import "container/heap"

// Belady returns the greatest number of hits that a cache of that many equal entries can have on a
// trace. It is Belady's rule (IBM Systems Journal 5(2), 1966) for a cache that may also refuse an
// entry. Of the held entries and the new one, the cache drops the one whose next use is farthest
// away.
func Belady(trace []uint64, capacity int) (hits int) {
	next := nextUses(trace)
	held := make(map[uint64]int, capacity) // key → its next use
	var far farthest
	for i, k := range trace {
		if _, ok := held[k]; ok {
			hits++
		}
		held[k] = next[i]
		heap.Push(&far, use{k, next[i]})
		for len(held) > capacity {
			u := heap.Pop(&far).(use)
			// An older use of a key that was used since is out of date.
			if at, ok := held[u.key]; ok && at == u.next {
				delete(held, u.key)
			}
		}
	}
	return hits
}

// nextUses returns for each access the index of the next access to the same key. If there is none,
// the index is at least the trace's length.
func nextUses(trace []uint64) []int {
	next := make([]int, len(trace))
	last := make(map[uint64]int)
	for i := len(trace) - 1; i >= 0; i-- {
		if at, ok := last[trace[i]]; ok {
			next[i] = at
		} else {
			next[i] = len(trace) + i // all different, so a use identifies one access
		}
		last[trace[i]] = i
	}
	return next
}

type use struct {
	key  uint64
	next int
}

// farthest is a heap with the farthest next use on top.
type farthest []use

func (f farthest) Len() int           { return len(f) }
func (f farthest) Less(i, j int) bool { return f[i].next > f[j].next }
func (f farthest) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }

// Push implements heap.Interface.
func (f *farthest) Push(x any) { *f = append(*f, x.(use)) }

// Pop implements heap.Interface.
func (f *farthest) Pop() any {
	last := len(*f) - 1
	u := (*f)[last]
	*f = (*f)[:last]
	return u
}
