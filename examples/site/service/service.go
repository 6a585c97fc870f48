// Package service is the one place where the site is written to. Every write is
// checked, made in one transaction, and told to a [Publisher] before it returns,
// whoever asked for it; so whatever is cached in front of the store has one place
// to listen.
package service

import (
	"context"
	"errors"
	"fmt"
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

// write runs fn in a transaction, and publishes the events that it returns.
func (s *Service) write(ctx context.Context, fn func(tx *store.Tx) ([]Event, error)) error {
	var events []Event
	revision, err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if events, err = fn(tx); err != nil {
			events = nil
		}
		return err
	})
	if len(events) == 0 {
		return err // fn failed, or found nothing to do
	}
	// If it was the commit that failed, it may have happened all the same: to
	// forget too much is harmless, to forget too little is not.
	c := Change{Revision: revision, Events: events}
	if err != nil {
		c.Revision = 0
	}
	switch perr := s.cfg.Publisher.Publish(context.WithoutCancel(ctx), c); {
	case err != nil:
		return errors.Join(fmt.Errorf("commit: %w", err), perr)
	case perr != nil:
		return &UnpublishedError{perr}
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
