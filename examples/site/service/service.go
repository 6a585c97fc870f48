// Package service validates and makes every write to the site, and names its events. One
// transaction holds the write and what its events invalidate, so a writer that is killed at the
// commit leaves no stale entries in any process.
package service

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/store"
)

// Config configures a service. The zero Config is useful.
type Config struct {
	// Publish is called with the events of a commit, if there are any. It may be called
	// concurrently. If it waits for the invalidation, authors see their own writes. Its
	// error becomes an [*UnpublishedError]. It may be nil.
	Publish func(ctx context.Context, all ...events.Event) error
	Now     func() time.Time // nil means time.Now
}

// Service writes to the site. Its methods may be called concurrently.
// Its errors are [content.ErrNotFound], [*InvalidError], [*UnpublishedError], or the store's.
type Service struct {
	store *store.Store
	cfg   Config
}

// New returns a service that writes to s.
func New(s *store.Store, cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{s, cfg}
}

// now returns the time in milliseconds, the precision of the database.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// write runs fn, and invalidates what its events require, in one transaction. After the commit it
// publishes the events, and with that consumes them.
func (s *Service) write(ctx context.Context, fn func(tx *store.Tx) ([]events.Event, error)) error {
	var all []events.Event
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if all, err = fn(tx); err != nil {
			return err
		}
		for i := range all {
			all[i].Epoch = tx.Epoch
		}
		posts := slices.DeleteFunc(slices.Clone(all), func(e events.Event) bool { return !e.OfPost() })
		return tx.Invalidate(ctx, events.MakePlan(posts).Objects...) // the other tables invalidate themselves
	})
	if err != nil || len(all) == 0 || s.cfg.Publish == nil {
		return err
	}
	if err := s.cfg.Publish(context.WithoutCancel(ctx), all...); err != nil {
		return &UnpublishedError{err}
	}
	return nil
}

// free returns the errors so far, or an error if another row of the table has the slug.
func (c *check) free(ctx context.Context, tx *store.Tx, table store.Table, slug string, id int64) error {
	if err := c.err(); err != nil {
		return err
	}
	switch other, err := tx.ID(ctx, table, slug); {
	case errors.Is(err, content.ErrNotFound), err == nil && other == id:
		return nil
	case err != nil:
		return err
	}
	return &InvalidError{[]FieldError{{"slug", "is in use"}}}
}

// UnpublishedError means that a write was committed, but Publish failed. This process may
// serve stale pages for the log's bound.
type UnpublishedError struct{ Err error }

// Error returns the text of the error.
func (e *UnpublishedError) Error() string { return "written, but not published: " + e.Err.Error() }

// Unwrap returns the error of Publish.
func (e *UnpublishedError) Unwrap() error { return e.Err }

// Schedule calls publishDue when it starts and at each interval until ctx ends. It logs failures.
func Schedule(ctx context.Context, every time.Duration, log *slog.Logger, publishDue func(context.Context) (int, error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		n, err := publishDue(ctx)
		if n > 0 {
			log.InfoContext(ctx, "published scheduled posts", "posts", n)
		}
		if err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "publishing scheduled posts failed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
