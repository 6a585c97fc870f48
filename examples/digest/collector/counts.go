package collector

import "sync/atomic"

// Counts are numbers of events in this collector since it was made.
type Counts struct {
	InFlight    int64 `json:"in_flight"`    // fetches under way now
	Claimed     int64 `json:"claimed"`      // leases taken
	Succeeded   int64 `json:"succeeded"`    // fetches stored as a success
	NotModified int64 `json:"not_modified"` // of these, where nothing had changed
	Failed      int64 `json:"failed"`       // fetches stored as a failure
	Returned    int64 `json:"returned"`     // fetches cut short, whose leases were given back
	Lost        int64 `json:"lost"`         // fetches that took longer than their lease
	Unstored    int64 `json:"unstored"`     // fetches that the database did not take
	New         int64 `json:"new"`          // items
	Updated     int64 `json:"updated"`      // new versions of items
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
