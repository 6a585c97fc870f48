package local

import (
	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/tier"
)

// node is one entry while the tier holds it. Its word Seen has four parts, from the lowest bit:
// the hits since the hand's last visit, 3 at most; the hits that the climb has counted in a
// period, 63 at most; whether the node is in main; and that period. Concurrent writers may lose a
// change.
type node = localnode.Node

const (
	hitsMask    = 3
	countShift  = 2
	countMask   = 63
	ofMain      = 1 << 8
	periodShift = 9
	periodMask  = 1<<23 - 1
)

// chargeOf returns what a node takes from the budget.
func chargeOf(n *node) int64 { return n.Cost() + Overhead }

// The places of a node. After inMain, they say why the node has none.
const (
	_ localnode.Place = iota // not entered
	inWindow
	inMain
	evicted
	rejected
	replaced
	deleted
	expired
	closed
)

var reasons = [...]tier.EvictReason{
	evicted: tier.Evicted, rejected: tier.Rejected, replaced: tier.Replaced, deleted: tier.Deleted, expired: tier.Expired, closed: tier.Closed,
}

// departures are nodes that have left and are reported after the locks are released. The zero
// value is empty.
type departures struct {
	first, last *node // by Newer
}

func (d *departures) add(n *node, why localnode.Place) {
	n.Place, n.Older, n.Newer = why, nil, nil
	if d.first == nil {
		d.first = n
	} else {
		d.last.Newer = n
	}
	d.last = n
}
