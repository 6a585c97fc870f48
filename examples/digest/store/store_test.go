package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/store"
)

func TestUsers(t *testing.T) {
	w := newWorld(t, 0)
	want := store.User{Name: "Ann", Email: "ann@example.com", Slug: "ann", APIKeyHash: store.HashKey("secret"), CreatedAt: noon, Options: []byte(`{"language":"zh"}`)}
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		want.ID, err = tx.AddUser(ctx, want)
		return err
	})
	for name, read := range map[string]func() (store.User, error){
		"User":       func() (store.User, error) { return w.User(t.Context(), want.ID) },
		"UserBySlug": func() (store.User, error) { return w.UserBySlug(t.Context(), "ann") },
		"UserByKey":  func() (store.User, error) { return w.UserByKey(t.Context(), "secret") },
	} {
		got, err := read()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	if _, err := w.UserByKey(t.Context(), ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("UserByKey of no key = %v, want %v", err, store.ErrNotFound)
	}
	w.user("bob")
	if ids, err := w.UserIDs(t.Context(), want.ID, 10); err != nil || len(ids) != 1 || ids[0] != want.ID+1 {
		t.Errorf("UserIDs after the first = %v, %v", ids, err)
	}
}

func TestPacks(t *testing.T) {
	w := newWorld(t, 3)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddPack(ctx, store.Pack{Slug: "a", Name: "A", SourceIDs: []int64{3, 1, 3}})
		_, err2 := tx.AddPack(ctx, store.Pack{Slug: "b", Name: "B", Default: true, SourceIDs: []int64{2}})
		return errors.Join(err, err2)
	})
	ann := w.user("ann")
	w.user("bob")
	w.write(func(ctx context.Context, tx *store.Tx) error { // a write without changes
		offered, err := tx.InstallPack(ctx, ann, "b")
		if offered != 1 {
			t.Errorf("the pack offers %d sources", offered)
		}
		return err
	})
	want := []store.Pack{
		{ID: 2, Slug: "b", Name: "B", Default: true, InstallCount: 2, SourceIDs: []int64{2}, CreatedAt: noon},
		{ID: 1, Slug: "a", Name: "A", SourceIDs: []int64{1, 3}, CreatedAt: noon},
	}
	got, err := w.Packs(t.Context(), 0)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Packs: %v %s", err, diff)
	}
}
