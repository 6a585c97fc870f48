package newsroom_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/newsroom"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

func TestInstall(t *testing.T) {
	st := storetest.New(t, nil)
	ids, packs, err := newsroom.Install(t.Context(), st, "http://newsroom.example")
	if err != nil {
		t.Fatal(err)
	}
	visible, err := st.VisibleSources(t.Context(), 0)
	if err != nil || len(visible) != len(ids) {
		t.Errorf("%d sources are public, %v, want all %d", len(visible), err, len(ids))
	}
	for _, s := range visible {
		if !json.Valid(s.Config) {
			t.Errorf("%s: the config is no JSON", s.Name)
		}
	}
	for i, want := range packs {
		got, err := st.PackBySlug(t.Context(), want.Slug)
		if err != nil || got.Default != (i == 0) || len(got.SourceIDs) != len(want.SourceIDs) || len(got.SourceIDs) < 5 {
			t.Errorf("pack %s: %+v, %v", want.Slug, got, err)
		}
	}
	id, err := addUser(t, st)
	if err != nil {
		t.Fatal(err)
	}
	if _, n, err := st.SubscriptionHash(t.Context(), id); err != nil || n != len(packs[0].SourceIDs) {
		t.Errorf("a new user starts with %d sources, %v, want the first pack's %d", n, err, len(packs[0].SourceIDs))
	}
	if _, _, err := newsroom.Install(t.Context(), st, "http://newsroom.example"); !errors.Is(err, store.ErrTaken) {
		t.Errorf("twice: %v, want ErrTaken", err)
	}
	if after, err := st.VisibleSources(t.Context(), 0); err != nil || !cmp.Equal(len(after), len(visible)) {
		t.Errorf("%d sources after an installation that failed, %v, want %d", len(after), err, len(visible))
	}
	if _, err := newsroom.Packs(ids[1:]); err == nil {
		t.Error("packs of too few sources are no error")
	}
}

func addUser(t *testing.T, st *store.Store) (id int64, err error) {
	t.Helper()
	err = st.Write(t.Context(), func(tx *store.Tx) error {
		id, err = tx.AddUser(t.Context(), store.User{Email: "a@example.org", Slug: "a"})
		return err
	})
	return id, err
}
