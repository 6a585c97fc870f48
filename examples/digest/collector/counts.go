package collector

import "sync/atomic"

// Counts are numbers of events in this collector since it was made.
type Counts struct {
	InFlight    int64 // fetches under way now
	Claimed     int64 // leases taken
	Succeeded   int64 // fetches stored as a success
	NotModified int64 // of these, where nothing had changed
	Failed      int64 // fetches stored as a failure
	Returned    int64 // fetches cut short, whose leases were given back
	Lost        int64 // fetches that took longer than their lease
	Unstored    int64 // fetches that the database did not take
	New         int64 // items
	Updated     int64 // new versions of items
}

type counters struct {
	inFlight, claimed, succeeded, notModified, failed, returned, lost, unstored, created, updated atomic.Int64
}

func (n *counters) count(r Report) {
	if r.Error != "" {
		n.failed.Add(1)
		return
	}
	n.succeeded.Add(1)
	if r.NotModified {
		n.notModified.Add(1)
	}
	n.created.Add(int64(r.New))
	n.updated.Add(int64(r.Updated))
}

// Counts returns the numbers so far. They are read one by one while others count.
func (c *Collector) Counts() Counts {
	n := &c.counts
	return Counts{
		InFlight: n.inFlight.Load(), Claimed: n.claimed.Load(), Succeeded: n.succeeded.Load(), NotModified: n.notModified.Load(),
		Failed: n.failed.Load(), Returned: n.returned.Load(), Lost: n.lost.Load(), Unstored: n.unstored.Load(),
		New: n.created.Load(), Updated: n.updated.Load(),
	}
}
