// Package storetest gives tests a database of their own.
package storetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// empty is the file of a database with nothing in it. Bringing a schema up to date is
// slow under the race detector; copying a file is not.
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
	if err := s.Close(); err != nil { // which moves everything from the log to the file
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

// Open opens the database at path, as one more process would. It is closed with the
// test. A nil clock is time.Now.
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

// New is Open of a new database.
func New(tb testing.TB, now func() time.Time) *store.Store {
	tb.Helper()
	return Open(tb, Path(tb), now)
}

// Clock is a clock that stands still until it is told to move. All methods may be
// called concurrently.
type Clock struct {
	mu sync.Mutex // protects at
	at time.Time
}

// NewClock returns a clock that shows at.
func NewClock(at time.Time) *Clock { return &Clock{at: at} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Set makes the clock show at.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
