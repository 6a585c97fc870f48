package follow

import (
	"math/rand/v2"
	"time"
)

// backoff spaces the retries of a failing operation. Each pause is twice the one before, up to a
// second or half the bound, whichever is shorter. The first pauses are short because most faults
// are. A backoff belongs to one goroutine or is protected by a mutex.
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

// reset starts again with the shortest pause, after a success.
func (b *backoff) reset() { b.last = 0 }

// jitter shortens d by up to a quarter. Otherwise the processes of a fleet might ask in step.
func jitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d/4)+1))
}
