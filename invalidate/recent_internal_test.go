package invalidate

import (
	"strconv"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// A key fence is known exactly for as long as no more than maxRecent others came after
// it, wherever their hashes fall, and forgotten at some time.
func TestRecentKeysAreRemembered(t *testing.T) {
	var r recentKeys
	hash := func(i int) uint64 { return xxhash.Sum64String("acme:users:v1:" + strconv.Itoa(i)) }
	for i := range 4 * maxRecent {
		r.put(hash(i), keyFence{tick: uint64(i) + 1, pos: Position(i) + 1})
		if i%1000 != 0 || i < maxRecent {
			continue
		}
		if old := i - maxRecent; r.position(hash(old)) != Position(old)+1 {
			t.Fatalf("the fence before the last %d is forgotten", maxRecent)
		}
	}
	first := hash(0)
	if r.position(first) != 0 {
		t.Errorf("after %d others the first is still known", 4*maxRecent-1)
	}
	// It is judged by its bucket then: covered if that is newer than what it is held against.
	if !r.covers(first, 5, 6) || r.covers(first, 5, 5) {
		t.Error("what was forgotten is not judged by its bucket")
	}
}
