package population_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/newsroom"
	"github.com/twofold-go/twofold/examples/digest/population"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

// installed returns a database with the newsroom's sources and packs.
func installed(t *testing.T) (*store.Store, population.Config) {
	t.Helper()
	st := storetest.New(t, storetest.NewClock(time.Date(2026, 2, 25, 0, 0, 0, 0, time.UTC)).Now)
	ids, packs, err := newsroom.Install(t.Context(), st, "http://newsroom.example")
	if err != nil {
		t.Fatal(err)
	}
	return st, population.Config{Seed: 1, Sources: ids, Packs: packs}
}

// The users of the database are those of the plan, and what is kept of them agrees.
func TestFill(t *testing.T) {
	st, cfg := installed(t)
	cfg.Users = 130 // more than one transaction
	var progress []int
	cfg.Progress = func(done int) { progress = append(progress, done) }
	if err := population.Fill(t.Context(), st, cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{100, 130}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	for i, want := range plan(t, cfg) {
		u, err := st.UserBySlug(t.Context(), population.Slug(i+1))
		if err != nil {
			t.Fatal(err)
		}
		got, err := st.Subscriptions(t.Context(), u.ID)
		if diff := cmp.Diff(want, got.SourceIDs); err != nil || diff != "" || got.Hash != store.Hash(want) {
			t.Errorf("user %d: %v, hash %s, want %s; sources (-want +got):\n%s", i, err, got.Hash, store.Hash(want), diff)
		}
	}
	if drift, err := st.Verify(t.Context(), false); err != nil || len(drift) > 0 {
		t.Errorf("Verify: %v, %v", drift, err)
	}
	packs, err := st.Packs(t.Context())
	if err != nil || packs[0].Slug != cfg.Packs[0].Slug || packs[0].InstallCount != 130 || packs[1].InstallCount == 0 {
		t.Errorf("packs: %+v, %v", packs, err)
	}
}

func TestFillSmall(t *testing.T) {
	for users := range 3 {
		st, cfg := installed(t)
		cfg.Users = users
		if err := population.Fill(t.Context(), st, cfg); err != nil {
			t.Errorf("%d users: %v", users, err)
		}
		if ids, err := st.UserIDs(t.Context(), 0, 10); err != nil || len(ids) != users {
			t.Errorf("%d users, %v, want %d", len(ids), err, users)
		}
	}
}

// What went wrong is not hidden, and leaves whole transactions behind.
func TestFillFails(t *testing.T) {
	st, cfg := installed(t)
	cfg.Users = 120
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Progress = func(int) { cancel() }
	if err := population.Fill(ctx, st, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("Fill says %v, want that it was cancelled", err)
	}
	if ids, err := st.UserIDs(t.Context(), 0, 200); err != nil || len(ids) != 100 {
		t.Errorf("%d users, %v, want 100", len(ids), err)
	}
	if err := population.Fill(t.Context(), st, cfg); !errors.Is(err, store.ErrTaken) {
		t.Errorf("Fill says %v, want that there is a user of that name", err)
	}
}
