package main

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
)

// hearWithin is how long a write waits at most until this process knows what the write
// has invalidated, and a new process until it knows the log.
const hearWithin = 5 * time.Second

// second is the log of a layer that is made from the layer below. It tells of a record
// once that layer knows the record. Otherwise a response could drop out, be made from
// an object that is about to drop out, and stay.
type second struct {
	invalidate.Log
	below func(context.Context) error // returns when the layer below knows the log
}

// Sync implements [invalidate.Log].
func (l second) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	p, err := l.Log.Sync(ctx, at, a)
	return p, l.wait(ctx, p, err)
}

// Tail implements [invalidate.Log].
func (l second) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	p, err := l.Log.Tail(ctx, at)
	return p, l.wait(ctx, p, err)
}

func (l second) wait(ctx context.Context, p invalidate.Page, err error) error {
	if err == nil && len(p.Keys)+len(p.Scopes) > 0 && l.below != nil {
		err = l.below(ctx)
	}
	return err
}

// hear waits until all layers know what was invalidated before the call.
func (c *caches) hear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	return c.tiers.Ready(ctx) // the layers below know it first
}

// operator invalidates what an operator asks for, in all processes, and then does what
// is done after a write.
type operator struct {
	*caches
	store *store.Store
}

func (o operator) invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	_, err := o.store.Write(ctx, func(tx *store.Tx) error { return tx.Invalidate(ctx, scopes...) })
	if err != nil {
		return err
	}
	var entities []content.Entity
	for _, s := range scopes {
		switch e := content.Entity(s.Text()); {
		case s == invalidate.All():
			return o.changes.Everything(ctx)
		case s == e.Scope():
			entities = append(entities, e)
		}
	}
	if len(entities) == 0 { // keys, for example: the pages that show them are not known
		return o.hear(ctx)
	}
	return o.changes.Entities(ctx, entities...)
}
