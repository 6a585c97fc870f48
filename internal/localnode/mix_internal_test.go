package localnode

import "testing"

// TestWeakHashes: hashes that differ in only a few bits still spread over cells and shards.
func TestWeakHashes(t *testing.T) {
	for _, cells := range []int{8_192, 16_384, 20_000, 100_000} {
		b := newBlock(cells)
		for shift := range uint(52) {
			homes, shards := map[int]bool{}, map[uint64]bool{}
			for i := range uint64(4096) {
				homes[b.home(tagOf(i<<shift))] = true
				shards[Mix(i<<shift)>>58] = true
			}
			if len(homes) < 1200 || len(shards) < 60 {
				t.Errorf("numbers shifted by %d have %d homes of 4,096 in %d cells, and %d shards of 64", shift, len(homes), cells, len(shards))
			}
		}
	}
}
