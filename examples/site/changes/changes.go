// Package changes carries what was written to what is cached: it makes events of
// the service's changes, invalidates the layers from the lowest up before the
// write returns, and warms up behind the writer's back what readers are likely to
// ask for next.
package changes

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// Config says what changes are carried to.
type Config struct {
	// Stages are the layers, the lowest first.
	Stages []pipeline.Stage

	// Warm asks for what is at a path of the site, so that it is cached. Nil:
	// nothing is warmed up.
	Warm func(ctx context.Context, path string) error

	Debounce      time.Duration        // of warm-ups; 0: 250 ms
	Logger        *slog.Logger         // Nil: slog.Default
	MeterProvider metric.MeterProvider // Nil: the global one of OpenTelemetry
}

// Publisher is the [service.Publisher] of a site that caches. Make one with [New],
// let Run run, and end it with Close. All methods may be called concurrently.
type Publisher struct {
	queue    *pipeline.Queue
	consumer *pipeline.Consumer
	progress progress
}

var _ service.Publisher = (*Publisher)(nil)

// New returns a publisher.
func New(cfg Config) (*Publisher, error) {
	p := &Publisher{queue: pipeline.NewQueue(pipeline.QueueConfig{})}
	pc := pipeline.Config{Stages: cfg.Stages, Debounce: cfg.Debounce, Logger: cfg.Logger, MeterProvider: cfg.MeterProvider}
	if cfg.Warm != nil {
		// The caches refuse what is older than an invalidation by themselves.
		pc.Warm = func(ctx context.Context, w *pipeline.Warmup) error {
			err := cfg.Warm(ctx, w.Name)
			p.progress.done(w.Name, err)
			return err
		}
	}
	var err error
	if p.consumer, err = pipeline.NewConsumer(p.queue, pc); err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	return p, nil
}

// Publish invalidates what the change has changed, in every layer, and returns
// when that is done. With an error it will be tried again by Run.
func (p *Publisher) Publish(ctx context.Context, c service.Change) error {
	return p.consumer.Apply(ctx, Events(c)...)
}

// Everything invalidates all there is.
func (p *Publisher) Everything(ctx context.Context) error {
	return p.consumer.Consume(ctx, p.queue.PublishAll())
}

// Entities invalidates what depends on the entities. One that no tag can be is
// refused: the layers would, again and again, and nothing after it would get through.
func (p *Publisher) Entities(ctx context.Context, entities ...content.Entity) error {
	e := pipeline.Event{Key: rand.Text(), Subject: "operator"}
	for _, entity := range entities {
		if err := invalidate.Tag(cache.DefaultTenant, string(entity)).Validate(); err != nil {
			return fmt.Errorf("changes: %w", err)
		}
		e.Invalidates = append(e.Invalidates, string(entity))
	}
	return p.consumer.Apply(ctx, e)
}

// Run applies, every few seconds, what no writer has applied, until ctx ends.
func (p *Publisher) Run(ctx context.Context) { p.consumer.Run(ctx) }

// Close applies what is left and waits for the warm-ups that run, until ctx ends.
func (p *Publisher) Close(ctx context.Context) error { return p.consumer.Close(ctx) }

// Stats returns the numbers of the queue and of what takes from it.
func (p *Publisher) Stats() pipeline.Stats { return p.consumer.Stats() }

// Recent returns what was done lately, the newest first.
func (p *Publisher) Recent() []pipeline.Record { return p.consumer.Recent() }

// Events returns the events of a change. Two changes of one revision are the same.
func Events(c service.Change) []pipeline.Event {
	id := strconv.FormatInt(c.Revision, 10)
	if c.Revision == 0 { // nobody knows which one it is
		id = rand.Text()
	}
	var events []pipeline.Event
	for i, e := range c.Events {
		subject, deleted := subjectOf(e)
		event := pipeline.Event{Subject: subject, Deleted: deleted, Warms: warmsOf(e)}
		var entities []string
		for _, entity := range e.Entities() {
			entities = append(entities, string(entity))
		}
		if len(entities)+len(event.Warms) == 0 && !deleted {
			continue // nothing that anybody sees, such as a draft
		}
		// A tag that thousands of posts have takes several.
		for part := 0; ; part++ {
			n := min(len(entities), pipeline.MaxInvalidates)
			event.Key = fmt.Sprintf("%s/%d/%d", id, i, part)
			event.Invalidates = entities[:n]
			events = append(events, event)
			if entities = entities[n:]; len(entities) == 0 {
				break
			}
		}
	}
	return events
}

// subjectOf returns what an event is about, and whether that is gone.
func subjectOf(e service.Event) (subject string, deleted bool) {
	switch e := e.(type) {
	case service.SettingsUpdated:
		return "settings", false
	case service.NavigationUpdated:
		return "navigation", false
	case service.PostUpserted:
		return fmt.Sprintf("post:%d", e.ID), false
	case service.PostDeleted:
		return fmt.Sprintf("post:%d", e.ID), true
	case service.PageUpserted:
		return fmt.Sprintf("page:%d", e.ID), false
	case service.PageDeleted:
		return fmt.Sprintf("page:%d", e.ID), true
	case service.TagChanged:
		if e.OldSlug != "" {
			return "tag:" + e.OldSlug, e.Slug == ""
		}
		return "tag:" + e.Slug, false
	case service.APIKeyUpserted:
		return "key:" + e.Prefix, false
	case service.APIKeyRevoked:
		return "key:" + e.Prefix, true
	}
	return fmt.Sprintf("%T", e), false
}
