package service

import (
	"context"
	"slices"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
)

// Change is all that one write has changed.
type Change struct {
	// Revision grows with each write, in the order of their commits. Concurrent
	// writes may be published in another order.
	Revision int64
	Events   []Event
}

// Entities returns the entities of all events, each once. They are invalidated by the
// transaction that made the change.
func (c Change) Entities() (all []content.Entity) {
	for _, e := range c.Events {
		all = append(all, e.Entities()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// scopes returns what to invalidate.
func (c Change) scopes() (all []invalidate.Scope) {
	for _, e := range c.Entities() {
		all = append(all, e.Scope())
	}
	return all
}

// Publisher is told of every change, whatever made it: the admin API, a job. The
// service calls it after the commit and before the write returns. A publisher that
// waits until this process knows what the commit has invalidated gives writers their
// own writes.
type Publisher interface {
	// Publish is called concurrently. An error does not undo the write: its caller
	// gets it as an [*UnpublishedError]. ctx is not cancelled with the request
	// that wrote.
	Publish(ctx context.Context, c Change) error
}

// PublisherFunc is a function that is a [Publisher].
type PublisherFunc func(ctx context.Context, c Change) error

// Publish calls f.
func (f PublisherFunc) Publish(ctx context.Context, c Change) error { return f(ctx, c) }

// UnpublishedError says that a write was made, and that the publisher failed: this
// process may serve what it showed before for as long as the log's bound.
type UnpublishedError struct{ Err error }

// Error returns the text of the error.
func (e *UnpublishedError) Error() string { return "written, but not published: " + e.Err.Error() }

// Unwrap returns the publisher's error.
func (e *UnpublishedError) Unwrap() error { return e.Err }
