package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// Every write that changes subscriptions changes the hash in the same transaction.
func TestEveryWriteUpdatesTheHash(t *testing.T) {
	w := newWorld(t, 12)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.AddPack(ctx, store.Pack{Slug: "start", Default: true, SourceIDs: []int64{1, 2}}); err != nil {
			return err
		}
		_, err := tx.AddPack(ctx, store.Pack{Slug: "more", SourceIDs: []int64{2, 9, 10}})
		return err
	})
	user := w.user("ann") // starts with the default pack
	w.wantHash(user, 1, 2)
	for _, step := range []struct {
		name string
		do   func(ctx context.Context, tx *store.Tx) error
		want []int64
	}{
		{"subscribe", func(ctx context.Context, tx *store.Tx) error { return tx.Subscribe(ctx, user, 3) }, []int64{1, 2, 3}},
		{"subscribe again", func(ctx context.Context, tx *store.Tx) error { return tx.Subscribe(ctx, user, 3) }, []int64{1, 2, 3}},
		{"subscribe to many", func(ctx context.Context, tx *store.Tx) error { return tx.Subscribe(ctx, user, 11, 4, 11) }, []int64{1, 2, 3, 4, 11}},
		{"unsubscribe", func(ctx context.Context, tx *store.Tx) error { return tx.Unsubscribe(ctx, user, 1, 12) }, []int64{2, 3, 4, 11}},
		{"install a pack", func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.InstallPack(ctx, user, "more")
			return err
		}, []int64{2, 3, 4, 9, 10, 11}},
		{"delete a source", func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSource(ctx, 3) }, []int64{2, 4, 9, 10, 11}},
		{"restore it", func(ctx context.Context, tx *store.Tx) error { return tx.RestoreSource(ctx, 3) }, []int64{2, 3, 4, 9, 10, 11}},
		{"hide a source", func(ctx context.Context, tx *store.Tx) error {
			return tx.EditSource(ctx, 4, store.SourceEdit{Public: new(false)})
		}, []int64{2, 3, 9, 10, 11}},
		{"show it", func(ctx context.Context, tx *store.Tx) error {
			return tx.EditSource(ctx, 4, store.SourceEdit{Public: new(true)})
		}, []int64{2, 3, 4, 9, 10, 11}},
		{"unsubscribe from all", func(ctx context.Context, tx *store.Tx) error {
			return tx.Unsubscribe(ctx, user, 2, 3, 4, 9, 10, 11)
		}, nil},
	} {
		w.write(step.do)
		t.Run(step.name, func(*testing.T) { w.wantHash(user, step.want...) })
	}
	if s, err := w.Subscriptions(t.Context(), user); err != nil || s.Hash != store.EmptyHash {
		t.Errorf("without subscriptions the hash is %s, %v; want that of nothing", s.Hash, err)
	}
}

// A deleted source no longer counts in the hashes of its subscribers. Other hashes do not change.
func TestSoftDeleteRecomputesEveryHash(t *testing.T) {
	w := newWorld(t, 5)
	both, one, none := w.user("both", 1, 2), w.user("one", 2), w.user("none", 3)
	left := w.user("left", 1, 2)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.Unsubscribe(ctx, left, 2) })
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSource(ctx, 2) })
	w.wantHash(both, 1)
	w.wantHash(one)
	w.wantHash(none, 3)
	w.wantHash(left, 1)
	if users, err := w.UsersByHash(t.Context(), store.Hash([]int64{1})); err != nil || !slices.Equal(users, []int64{both, left}) {
		t.Errorf("UsersByHash = %v, %v; want %d and %d", users, err, both, left)
	}
	if err := w.Write(t.Context(), func(tx *store.Tx) error { return tx.Subscribe(t.Context(), none, 2) }); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Subscribe to a deleted source = %v, want %v", err, store.ErrNotFound)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.RestoreSource(ctx, 2) })
	w.wantHash(both, 1, 2)
	w.wantHash(one, 2)
	w.wantHash(left, 1)
}

// A paused source stays in the hash: a pause must not change the digests of its subscribers.
func TestPausedSourceStaysInTheHash(t *testing.T) {
	w := newWorld(t, 2)
	user := w.user("ann", 1, 2)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PauseSource(ctx, 2) })
	if s, err := w.Source(t.Context(), 2); err != nil || s.Active {
		t.Fatalf("source 2 is active: %v, %v", s.Active, err)
	}
	w.wantHash(user, 1, 2)
}

// Users with the same hash share digests, so only users who may read a source may subscribe to it.
func TestPrivateSourceIsItsOwnersAlone(t *testing.T) {
	w := newWorld(t, 2)
	owner, other := w.user("owner", 1), w.user("other", 1)
	var private int64
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		private, err = tx.AddSource(ctx, store.Source{Name: "mine", Type: "rss", OwnerID: owner, CreatedBy: owner})
		return err
	})
	err := w.Write(t.Context(), func(tx *store.Tx) error { return tx.Subscribe(t.Context(), other, 2, private) })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Subscribe to another's source = %v, want %v", err, store.ErrNotFound)
	}
	w.wantHash(other, 1) // all or none
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.Subscribe(ctx, owner, private) })
	w.wantHash(owner, 1, private)

	// A pack with a private source gives it only to its owner.
	w.write(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.AddPack(ctx, store.Pack{Slug: "p", SourceIDs: []int64{2, private}}); err != nil {
			return err
		}
		n, err := tx.InstallPack(ctx, other, "p")
		if n != 1 {
			t.Errorf("the pack offers %d sources, want 1", n)
		}
		return err
	})
	w.wantHash(other, 1, 2)
}

// The hash is written once for a batch of any size.
func TestOneHashPerBatch(t *testing.T) {
	w := newWorld(t, 40)
	user := w.user("ann")
	w.exec(`CREATE TABLE writes (n INTEGER); `)
	w.exec(`CREATE TRIGGER count_writes AFTER UPDATE ON user_subscription_hashes BEGIN INSERT INTO writes VALUES (1); END`)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for id := range int64(40) {
			if err := tx.Subscribe(ctx, user, id+1); err != nil {
				return err
			}
		}
		return nil
	})
	writer, _ := w.Pools()
	var writes int
	if err := writer.QueryRowContext(t.Context(), `SELECT count(*) FROM writes`).Scan(&writes); err != nil {
		t.Fatal(err)
	}
	if writes != 1 {
		t.Errorf("the hash was written %d times, want once", writes)
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	w := newWorld(t, 2)
	user := w.user("ann", 1)
	failure := errors.New("no")
	subscribe := func(err error) error {
		return w.Write(t.Context(), func(tx *store.Tx) error { return errors.Join(tx.Subscribe(t.Context(), user, 2), err) })
	}
	if err := subscribe(failure); !errors.Is(err, failure) {
		t.Errorf("Write = %v, want %v", err, failure)
	}
	w.wantHash(user, 1)
}
