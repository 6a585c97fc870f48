package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

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

// After any sequence of writes, the stored hashes match the subscriptions of a model.
func TestHashesFollowAnySequenceOfWrites(t *testing.T) {
	const sources, users = 4, 2
	step := rapid.Custom(func(t *rapid.T) step {
		return step{
			what:   rapid.SampledFrom([]string{"subscribe", "unsubscribe", "delete", "restore", "show", "hide"}).Draw(t, "what"),
			user:   rapid.Int64Range(1, users).Draw(t, "user"),
			source: rapid.Int64Range(1, sources).Draw(t, "source"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, sources)
		m := model{subscribed: map[[2]int64]bool{}, deleted: map[int64]bool{}, hidden: map[int64]bool{}}
		for _, name := range []string{"a", "b"} {
			w.user(name)
		}
		for _, s := range rapid.SliceOfN(step, 1, 12).Draw(rt, "steps") {
			err := w.Write(t.Context(), func(tx *store.Tx) error { return s.do(t.Context(), tx) })
			if ok := m.do(s); (err == nil) != ok {
				rt.Fatalf("%+v = %v, want it to work: %v", s, err, ok)
			}
		}
		for user := range int64(users) {
			want := m.of(user+1, sources)
			if s, err := w.Subscriptions(t.Context(), user+1); err != nil || s.Hash != store.Hash(want) || len(s.SourceIDs) != len(want) {
				rt.Fatalf("user %d: %+v, %v; want %v", user+1, s, err, want)
			}
		}
	})
}

type step struct {
	what         string
	user, source int64
}

func (s step) do(ctx context.Context, tx *store.Tx) error {
	switch s.what {
	case "subscribe":
		return tx.Subscribe(ctx, s.user, s.source)
	case "unsubscribe":
		return tx.Unsubscribe(ctx, s.user, s.source)
	case "delete":
		return tx.DeleteSource(ctx, s.source)
	case "restore":
		return tx.RestoreSource(ctx, s.source)
	}
	return tx.EditSource(ctx, s.source, store.SourceEdit{Public: new(s.what == "show")})
}

type model struct {
	subscribed      map[[2]int64]bool // of user and source
	deleted, hidden map[int64]bool
}

func (m *model) do(s step) (ok bool) {
	switch s.what {
	case "subscribe":
		if m.deleted[s.source] || m.hidden[s.source] {
			return false
		}
		m.subscribed[[2]int64{s.user, s.source}] = true
	case "unsubscribe":
		delete(m.subscribed, [2]int64{s.user, s.source})
	case "delete", "restore":
		m.deleted[s.source] = s.what == "delete"
	case "show", "hide":
		m.hidden[s.source] = s.what == "hide"
	}
	return true
}

func (m *model) of(user, sources int64) (ids []int64) {
	for s := range sources {
		if m.subscribed[[2]int64{user, s + 1}] && !m.deleted[s+1] && !m.hidden[s+1] {
			ids = append(ids, s+1)
		}
	}
	return ids
}
