package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Keeper keeps the database at one path open, and puts a new one in its place when
// it is corrupt. All methods may be called concurrently.
type Keeper struct {
	path string
	opt  Options
	now  func() time.Time
	log  *slog.Logger

	mu      sync.Mutex
	store   *Store // nil: not open
	suspect bool   // the last one failed in use, so the next one is checked throughout
}

// NewKeeper returns the keeper of the database at path, which is opened when it is
// first used.
func NewKeeper(path string, opt Options, now func() time.Time, log *slog.Logger) *Keeper {
	return &Keeper{path: path, opt: opt, now: now, log: log}
}

// Store returns the database, opened. One that turns out to be corrupt is set aside.
func (k *Keeper) Store(ctx context.Context) (*Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.store != nil {
		return k.store, nil
	}
	opt := k.opt
	opt.Thorough = k.suspect
	s, err := Open(ctx, k.path, opt)
	if errors.Is(err, ErrCorrupt) {
		aside, failed := SetAside(k.path, k.now())
		if failed != nil {
			return nil, fmt.Errorf("state: set aside: %w", errors.Join(failed, err))
		}
		k.log.ErrorContext(ctx, "the database is corrupt; a new one is built", "aside", aside, "err", err)
		s, err = Open(ctx, k.path, k.opt)
	}
	if err != nil {
		return nil, err
	}
	k.store, k.suspect = s, false
	return s, nil
}

// Replace closes a store that turned out to be corrupt, so that the next call of
// [Keeper.Store] looks at the file again: it sets it aside, or finds that another
// process already has.
func (k *Keeper) Replace(bad *Store) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.store != bad {
		return nil // somebody was quicker
	}
	k.store, k.suspect = nil, true
	return bad.Close()
}

// Close closes the database.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.store
	k.store = nil
	if s == nil {
		return nil
	}
	return s.Close()
}
