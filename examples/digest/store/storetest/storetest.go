// Package storetest gives each test its own database.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// empty is an empty database. Tests copy it, because migrations are slow under the race detector.
var empty = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "storetest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "digest.db")
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // Close moves everything from the WAL to the file
		return nil, err
	}
	return os.ReadFile(path)
})

// Path returns the path of a new database.
func Path(tb testing.TB) string {
	tb.Helper()
	file, err := empty()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "digest.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Open opens the database at path, as another process would.
func Open(tb testing.TB, path string, now func() time.Time) *store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), path, store.Options{Now: now})
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

// New opens a new database.
func New(tb testing.TB, now func() time.Time) *store.Store {
	tb.Helper()
	return Open(tb, Path(tb), now)
}

// Clock is a clock that stands still until a test moves it.
type Clock struct{ at atomic.Pointer[time.Time] }

// NewClock returns a clock that shows at.
func NewClock(at time.Time) *Clock {
	c := &Clock{}
	c.Set(at)
	return c
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return *c.at.Load() }

// Set sets the clock to at.
func (c *Clock) Set(at time.Time) { c.at.Store(&at) }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }
