package resident

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Turn is one of the MaxLoads turns. A load that is nested in another one runs in its turn. The turn is free again
// when both have returned: a loader that does not look at its context may outlive the load around it.
type Turn struct {
	of    *semaphore.Weighted
	loads atomic.Int64
}

// Take begins the first load of the turn, which was acquired of these turns.
func (t *Turn) Take(of *semaphore.Weighted) {
	t.of = of
	t.loads.Store(1)
}

// Share begins another load in the turn. It reports false if there is no turn any more.
func (t *Turn) Share() bool {
	for t != nil {
		n := t.loads.Load()
		if n == 0 {
			return false
		}
		if t.loads.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// Leave ends a load of the turn.
func (t *Turn) Leave() {
	if t.loads.Add(-1) == 0 {
		t.of.Release(1)
	}
}

// Loan is the turns that loads have lent to a flight, because they wait for it. The zero Loan has none.
type Loan struct {
	mu     sync.Mutex // protects the rest
	lent   *lent
	onLend func()
}

// lent is a list of turns. Few flights are lent any.
type lent struct {
	turn *Turn
	next *lent
}

// Lend adds a turn.
func (l *Loan) Lend(t *Turn) {
	l.mu.Lock()
	l.lent = &lent{t, l.lent}
	f := l.onLend
	l.mu.Unlock()
	if f != nil {
		f()
	}
}

// OnLend sets the function to run when a turn is lent, and runs it immediately if one was.
func (l *Loan) OnLend(f func()) {
	l.mu.Lock()
	l.onLend = f
	anyLent := l.lent != nil
	l.mu.Unlock()
	if anyLent {
		f()
	}
}

// Share begins a load in one of the turns, and returns it, or nil if they are all over. It forgets those.
func (l *Loan) Share() *Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; l.lent != nil; l.lent = l.lent.next {
		if t := l.lent.turn; t.Share() {
			return t
		}
	}
	return nil
}
