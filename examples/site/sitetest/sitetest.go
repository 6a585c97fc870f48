// Package sitetest gives each test its own site.
package sitetest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/seed"
	"github.com/twofold-go/twofold/examples/site/store"
)

// The values of a seeded test site.
const (
	BaseURL = "https://blog.example"
	APIKey  = "testkey0_SECRETSECRETSECRETSECRET"
)

// Now returns a time after all posts of the seed.
func Now() time.Time { return time.Date(2026, time.November, 21, 8, 0, 0, 0, time.UTC) }

// seeded is the database that each test copies: copying is faster than seeding.
var seeded struct {
	sync.Once
	file []byte
}

// Seeded returns a store with the seed. The test closes it at its end.
func Seeded(tb testing.TB) *store.Store {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "site.db")
	seeded.Do(func() {
		first := path + ".first"
		err := Fill(tb, first).Close() // Close moves everything from the WAL to the file
		if err == nil {
			seeded.file, err = os.ReadFile(first)
		}
		if err != nil {
			tb.Fatal(err)
		}
	})
	if err := os.WriteFile(path, seeded.file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return Open(tb, path)
}

// Empty returns an empty store. The test closes it at its end.
func Empty(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, filepath.Join(tb.TempDir(), "site.db"))
}

// Fill returns a store on an empty database, with the seed. The test closes it at its end.
func Fill(tb testing.TB, db string) *store.Store {
	tb.Helper()
	s := Open(tb, db)
	if _, err := seed.Fill(tb.Context(), s, seed.Options{BaseURL: BaseURL, APIKey: APIKey}); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Open returns a store on a database. The test closes it at its end.
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
