package follow

import "time"

// rests decides how long the tail rests after each read. A read costs the log's server as much as
// many records, and a fleet makes many reads. So each read takes a rest: a thousandth of the bound
// for each record, at most a hundredth of it, and at least 2 ms. A process that has read little may
// postpone rests, up to a bound in all. So while few records come, a process reads each immediately,
// even a thousand in quick succession. While many come, it reads less often.
type rests struct {
	bound time.Duration
	until time.Duration // when all rests so far would be over, in time since any origin
}

const shortestRest = 2 * time.Millisecond

// after returns how long to rest after a read that ended at now with this number of records. After
// an empty read the tail always rests, because a log may return without waiting.
func (r *rests) after(records int, now time.Duration) time.Duration {
	rest := max(shortestRest, min(time.Duration(records)*r.bound/1000, r.bound/100))
	if r.until = max(r.until, now) + rest; records == 0 {
		return rest
	}
	return max(r.until-now-r.bound, 0)
}
