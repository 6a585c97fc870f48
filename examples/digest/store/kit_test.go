package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/store/storetest"
)

var noon = time.Date(2026, time.February, 25, 12, 0, 0, 0, time.UTC)

// world is a database with sources whose ids are 1, 2, 3 and so on.
type world struct {
	*store.Store
	t     testing.TB
	clock *storetest.Clock
}

func newWorld(t testing.TB, sources int) *world {
	t.Helper()
	clock := storetest.NewClock(noon)
	w := &world{Store: storetest.New(t, clock.Now), t: t, clock: clock}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for i := range sources {
			id, err := tx.AddSource(ctx, store.Source{Name: fmt.Sprint("source ", i+1), Type: "rss", Public: true})
			if err != nil || id != int64(i+1) {
				return fmt.Errorf("source %d has the id %d, %w", i+1, id, err)
			}
		}
		return nil
	})
	return w
}

// write runs fn in a transaction that must succeed.
func (w *world) write(fn func(ctx context.Context, tx *store.Tx) error) {
	w.t.Helper()
	if err := w.Write(w.t.Context(), func(tx *store.Tx) error { return fn(w.t.Context(), tx) }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) user(name string, sources ...int64) (id int64) {
	w.t.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		if id, err = tx.AddUser(ctx, store.User{Name: name, Email: name + "@example.com", Slug: name}); err != nil {
			return err
		}
		return tx.Subscribe(ctx, id, sources...)
	})
	return id
}

// wantHash checks the stored hash of a user's subscriptions.
func (w *world) wantHash(user int64, sources ...int64) {
	w.t.Helper()
	s, err := w.Subscriptions(w.t.Context(), user)
	if want := store.Hash(sources); err != nil || s.Hash != want || len(s.SourceIDs) != len(sources) {
		w.t.Errorf("user %d: %+v, %v; want %.8s of %d sources", user, s, err, want, len(sources))
	}
	if found, err := w.Verify(w.t.Context(), false); err != nil || len(found) > 0 {
		w.t.Errorf("Verify = %v, %v; want no drift", found, err)
	}
}

// exec changes the database directly.
func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	writer, _ := w.Pools()
	if _, err := writer.ExecContext(w.t.Context(), query, args...); err != nil {
		w.t.Fatal(err)
	}
}
