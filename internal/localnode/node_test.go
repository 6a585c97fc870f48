package localnode_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/twofold-go/twofold/internal/localnode"
)

// A node keeps the entry and the cost as they were given to Set, whether or not it is the entry.
func TestNodeKeepsEntryAndCost(t *testing.T) {
	used := new(localnode.Node)
	localnode.Of(1, used, 5)
	for _, tc := range []struct {
		name  string
		entry any
		cost  int64
		want  int64
		own   bool // the entry is its own node
	}{
		{"a free node", new(localnode.Node), 7, 7, true},
		{"without cost", new(localnode.Node), 0, 0, true},
		{"a negative cost", new(localnode.Node), -1, 0, true},
		{"the largest cost", new(localnode.Node), math.MaxUint32 - 1, math.MaxUint32 - 1, true},
		{"a larger cost", new(localnode.Node), math.MaxUint32, math.MaxUint32, false},
		{"a huge cost", new(localnode.Node), math.MaxInt64, math.MaxInt64, false},
		{"a node in use", used, 7, 7, false},
		{"no node", "entry", 7, 7, false},
		{"nothing", nil, 7, 7, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := localnode.Of(3, tc.entry, tc.cost)
			if n.Hash != 3 || n.Entry() != tc.entry || n.Cost() != tc.want || (any(n) == tc.entry) != tc.own {
				t.Errorf("Of = a node of %d with %v for %d, its own: %v; want 3, %v, %d, %v",
					n.Hash, n.Entry(), n.Cost(), any(n) == tc.entry, tc.entry, tc.want, tc.own)
			}
		})
	}
}

// Every entry of a cache contains a node.
func TestNodeIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(localnode.Node{}); size > 40 && unsafe.Sizeof(uintptr(0)) == 8 {
		t.Errorf("a node takes %d bytes, want 40 at most", size)
	}
}
