// Package service is the one place where the site is written to. Every write is
// checked, and made in one transaction with the invalidation of what it changes: no
// process serves the old for long, even when the writer dies at the commit. Then a
// [Publisher] is told of it.
package service

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
)

// Config says how a service works. The zero Config is useful.
type Config struct {
	Publisher Publisher        // is told of every change. Nil: nobody is
	Now       func() time.Time // the clock. Nil: time.Now
}

// Service writes to the site. Its methods may be called concurrently. An error is
// [content.ErrNotFound], an [*InvalidError] or an [*UnpublishedError] if it is not
// the store's.
type Service struct {
	store *store.Store
	cfg   Config
}

// New returns a service that writes to s.
func New(s *store.Store, cfg Config) *Service {
	if cfg.Publisher == nil {
		cfg.Publisher = PublisherFunc(func(context.Context, Change) error { return nil })
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{s, cfg}
}

// now is the time that goes into the database, which keeps milliseconds.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// write runs fn in a transaction, which invalidates what the events that it returns
// have changed, and publishes them after the commit. A commit that fails may have
// happened all the same: then the invalidation has happened with it.
func (s *Service) write(ctx context.Context, fn func(tx *store.Tx) ([]Event, error)) error {
	var c Change
	var err error
	c.Revision, err = s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if c.Events, err = fn(tx); err != nil {
			return err
		}
		return tx.Invalidate(ctx, c.scopes()...)
	})
	if err != nil || len(c.Events) == 0 {
		return err // fn found nothing to do
	}
	if err := s.cfg.Publisher.Publish(context.WithoutCancel(ctx), c); err != nil {
		return &UnpublishedError{err}
	}
	return nil
}

// free returns an error about the field "slug" unless find finds nothing with it,
// or the thing itself.
func free(id int64, find func() (int64, error)) error {
	switch other, err := find(); {
	case errors.Is(err, content.ErrNotFound), err == nil && other == id:
		return nil
	case err != nil:
		return err
	}
	return invalid("slug", "is in use")
}
