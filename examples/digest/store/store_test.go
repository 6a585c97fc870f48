package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
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

// Counters outlive the process.
func TestCountersOutliveTheProcess(t *testing.T) {
	path, clock := storetest.Path(t), storetest.NewClock(noon)
	for range 3 {
		s, err := store.Open(t.Context(), path, store.Options{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.AddCounts(t.Context(), map[string]int64{"hits": 2, "misses": 1})
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		clock.Advance(45 * time.Minute)
	}
	s := storetest.Open(t, path, clock.Now)
	for since, want := range map[time.Time]int64{{}: 6, noon.Add(59 * time.Minute): 6, noon.Add(time.Hour): 2, noon.Add(9 * time.Hour): 0} {
		counts, err := s.Counts(t.Context(), since)
		if hits := counts["hits"]; err != nil || hits != want {
			t.Errorf("%d hits since %v, %v, want %d", hits, since, err, want)
		}
	}
}

// Every time comes from the program's clock. SQL's clock returns text, which compares wrongly.
func TestNoClockInSQL(t *testing.T) {
	w := newWorld(t, 0)
	_, readers := w.Pools()
	var schema string // without goose's table of migrations
	err := readers.QueryRowContext(t.Context(),
		`SELECT group_concat(lower(sql), ';') FROM sqlite_master WHERE tbl_name != 'goose_db_version'`).Scan(&schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"current_time", "current_date", "datetime(", "strftime(", "unixepoch(", "julianday(", "_at text"} {
		if strings.Contains(schema, bad) {
			t.Errorf("the schema has %q", bad)
		}
	}
}
