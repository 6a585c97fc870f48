// Package sitetest gives tests a site of their own.
package sitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/store"
)

// What the seeded site of a test is told.
const (
	BaseURL = "https://blog.example"
	APIKey  = "testkey0_SECRETSECRETSECRETSECRET"
)

// Now is a time after all posts of the seed but the scheduled one.
func Now() time.Time { return time.Date(2026, time.November, 21, 8, 0, 0, 0, time.UTC) }

// The databases that tests get a copy of are made once for all tests of a process:
// copying one is a lot quicker.
var (
	seeded = sync.OnceValues(func() ([]byte, error) { return build(func(*store.Store) error { return nil }) })
	slim   = sync.OnceValues(func() ([]byte, error) { return build(cut) })
)

// kept is the id of the last post that a slim site has.
const kept = 60

// build returns the file of a seeded database after a change.
func build(change func(s *store.Store) error) (file []byte, err error) {
	dir, err := os.MkdirTemp("", "sitetest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "site.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	err = seed.Fill(context.Background(), s, seed.Options{BaseURL: BaseURL, APIKey: APIKey})
	if err == nil {
		err = change(s)
	}
	if err := errors.Join(err, s.Close()); err != nil { // which moves everything from the log to the file
		return nil, err
	}
	return os.ReadFile(path)
}

// cut deletes the public posts after the one that is kept last.
func cut(s *store.Store) error {
	ctx := context.Background()
	all, err := s.AllPosts(ctx, content.Published, content.Window{Number: 1, Size: 1000})
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, func(tx *store.Tx) (err error) {
		for _, p := range all.Posts {
			if p.ID > kept {
				err = errors.Join(err, tx.DeletePost(ctx, p.ID))
			}
		}
		return err
	})
	return err
}

// Seeded returns a store with the seed in it, which is closed with the test.
func Seeded(tb testing.TB) *store.Store {
	tb.Helper()
	return copyOf(tb, seeded)
}

// Slim is Seeded without most of the posts, for tests that show all pages again
// and again: SQLite is slow under the race detector.
func Slim(tb testing.TB) *store.Store {
	tb.Helper()
	return copyOf(tb, slim)
}

func copyOf(tb testing.TB, database func() ([]byte, error)) *store.Store {
	tb.Helper()
	file, err := database()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "site.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return Open(tb, path)
}

// Empty returns a store with nothing in it, which is closed with the test.
func Empty(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, filepath.Join(tb.TempDir(), "site.db"))
}

// Fill returns a store on an empty database with the seed in it, which is closed with
// the test.
func Fill(tb testing.TB, db string) *store.Store {
	tb.Helper()
	s := Open(tb, db)
	if err := seed.Fill(tb.Context(), s, seed.Options{BaseURL: BaseURL, APIKey: APIKey}); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Open returns a store on a database, which is closed with the test.
func Open(tb testing.TB, db string) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
