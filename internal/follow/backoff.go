package follow

import (
	"math/rand/v2"
	"time"
)

// backoff spaces the tries of something that fails. Each pause is twice the one
// before, up to a second or half the bound. The first ones are short, since most
// faults are. It belongs to one goroutine, or to a mutex.
type backoff struct {
	first, longest, last time.Duration
}

func newBackoff(bound time.Duration) backoff {
	longest := min(time.Second, bound/2)
	return backoff{first: min(bound/16, longest), longest: longest}
}

// next returns the pause after another failure.
func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, b.first), b.longest)
	return jitter(b.last)
}

// reset says that there was no failure this time.
func (b *backoff) reset() { b.last = 0 }

// jitter takes up to a quarter off, so that a fleet does not ask in step.
func jitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d/4)+1))
}
