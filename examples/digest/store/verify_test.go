package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// Verify finds direct changes of the database, and with fix corrects them.
func TestVerifyFindsAndRepairsDrift(t *testing.T) {
	w := newWorld(t, 4)
	users := []int64{w.user("a", 1, 2), w.user("b", 2, 3), w.user("c", 4), w.user("d")}
	w.exec(`DELETE FROM user_subscriptions WHERE user_id = ? AND source_id = 1`, users[0])
	w.exec(`DELETE FROM user_subscription_hashes WHERE user_id = ?`, users[1])
	w.exec(`UPDATE user_subscription_hashes SET source_count = 7 WHERE user_id = ?`, users[3])
	want := []store.Drift{
		{UserID: users[0], Kept: store.Hash([]int64{1, 2}), Want: store.Hash([]int64{2})},
		{UserID: users[1], Want: store.Hash([]int64{2, 3})},
		{UserID: users[3], Kept: store.EmptyHash, Want: store.EmptyHash},
	}
	for _, fix := range []bool{false, true} {
		found, err := w.Verify(t.Context(), fix)
		if diff := cmp.Diff(want, found, cmpopts.IgnoreUnexported(store.Drift{})); err != nil || diff != "" {
			t.Errorf("Verify(%v): %v (-want +got)\n%s", fix, err, diff)
		}
	}
	w.wantHash(users[0], 2)
	w.wantHash(users[1], 2, 3)
	w.wantHash(users[3])
}
