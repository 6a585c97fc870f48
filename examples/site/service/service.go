// Package service validates and makes every write to the site. One transaction holds the
// write and its invalidations. So a writer that is killed at the commit leaves no stale
// entries in any process.
package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
)

// Config configures a service. The zero Config is useful.
type Config struct {
	// Publish is called after a commit that has changed something. It may be called
	// concurrently. If it waits for the invalidation, authors see their own writes. Its
	// error becomes an [*UnpublishedError]. Nil: not called.
	Publish func(ctx context.Context, c Change) error
	Now     func() time.Time // nil: time.Now
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

// write runs fn and its invalidations in a transaction, and calls Publish after the commit.
func (s *Service) write(ctx context.Context, fn func(tx *store.Tx) (Change, error)) error {
	var c Change
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if c, err = fn(tx); err != nil {
			return err
		}
		return tx.Invalidate(ctx, c.scopes()...)
	})
	if err != nil || len(c.Entities) == 0 || s.cfg.Publish == nil {
		return err
	}
	if err := s.cfg.Publish(context.WithoutCancel(ctx), c); err != nil {
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

// Change describes the effect of a write on the public side. The zero Change means no effect.
type Change struct {
	Entities []content.Entity // the changed entities, sorted, without duplicates, and as few as possible
	Path     string           // of the written post or page; empty: it is not public
}

func changed(path string, entities ...content.Entity) Change {
	slices.Sort(entities)
	return Change{slices.Compact(entities), path}
}

func (c Change) scopes() (all []invalidate.Scope) {
	for _, e := range c.Entities {
		all = append(all, e.Scope())
	}
	return all
}

func public(p content.Summary) bool { return p.Status == content.Published }

// postChange returns the change when a post becomes another one. The zero Summary means no post.
func postChange(from, to content.Summary) Change {
	if !public(from) && !public(to) {
		return Change{}
	}
	path, entities := "", []content.Entity{content.PostEntity(cmp.Or(to.ID, from.ID)), content.SitemapEntity}
	if public(to) {
		path = to.Path()
	}
	appears := from.Lang != to.Lang || public(from) != public(to)
	for _, p := range []content.Summary{from, to} {
		if !public(p) {
			continue
		}
		entities = append(entities, content.SlugEntity(p.Slug), content.PostsEntity(p.Lang), content.FeedEntity(p.Lang))
		if appears || !slices.Equal(from.Tags, to.Tags) {
			entities = append(entities, content.TagsEntity(p.Lang))
		}
		if appears || content.Month(from.PublishedAt) != content.Month(to.PublishedAt) {
			entities = append(entities, content.MonthsEntity(p.Lang))
		}
	}
	return changed(path, entities...)
}

// tagChange returns the change of a tag, whose name its posts show.
func tagChange(posts []content.Summary) Change {
	var entities []content.Entity
	for _, p := range posts {
		if public(p) {
			entities = append(entities, content.PostEntity(p.ID), content.PostsEntity(p.Lang), content.FeedEntity(p.Lang), content.TagsEntity(p.Lang))
		}
	}
	return changed("", entities...)
}

// UnpublishedError means that a write was committed, but Publish failed. This process may
// serve stale pages for the log's bound.
type UnpublishedError struct{ Err error }

// Error returns the text of the error.
func (e *UnpublishedError) Error() string { return "written, but not published: " + e.Err.Error() }

// Unwrap returns the error of Publish.
func (e *UnpublishedError) Unwrap() error { return e.Err }

// Schedule calls publishDue at once and at each interval until ctx ends. It logs failures.
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
