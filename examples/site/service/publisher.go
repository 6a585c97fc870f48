package service

import (
	"context"
	"slices"

	"github.com/twofold-go/twofold/examples/site/content"
)

// Change is all that one write has changed.
type Change struct {
	// Revision grows with each write, in the order of their commits; concurrent
	// writes may still be published in another order. 0 if the commit failed in a
	// way that leaves open what happened: then the events may be of nothing.
	Revision int64
	Events   []Event
}

// Entities returns the entities of all events, each once.
func (c Change) Entities() (all []content.Entity) {
	for _, e := range c.Events {
		all = append(all, e.Entities()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Publisher is told of every change, whatever made it: the admin API, a job. The
// service calls it after the commit and before the write returns, so a publisher
// that forgets what was cached before it returns gives writers their own writes.
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

// UnpublishedError says that a write was made, and that the publisher failed to
// publish it: what it should have reached may be old for as long as that says.
type UnpublishedError struct{ Err error }

// Error returns the text of the error.
func (e *UnpublishedError) Error() string { return "written, but not published: " + e.Err.Error() }

// Unwrap returns the publisher's error.
func (e *UnpublishedError) Unwrap() error { return e.Err }
