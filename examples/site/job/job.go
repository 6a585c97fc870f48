// Package job publishes scheduled posts when their time has come.
package job

import (
	"context"
	"log/slog"
	"time"
)

// DefaultEvery is how often a [Publisher] looks if it is not told.
const DefaultEvery = time.Second

// Due publishes what is due, and says how many that were: the service.
type Due interface {
	PublishDue(ctx context.Context) (int, error)
}

// Publisher looks for posts that are due, again and again. A post is published by
// the same service that the admin API writes to, so whoever listens to that hears
// of it.
type Publisher struct {
	Due   Due           // required
	Every time.Duration // between looks. 0: DefaultEvery
	Log   *slog.Logger  // Nil: slog.Default
}

// Run looks at once, and then every so often until ctx ends. What goes wrong is
// logged, and tried again at the next look.
func (p Publisher) Run(ctx context.Context) {
	if p.Every == 0 {
		p.Every = DefaultEvery
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for {
		p.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p Publisher) look(ctx context.Context) {
	n, err := p.Due.PublishDue(ctx)
	if n > 0 {
		p.Log.InfoContext(ctx, "published scheduled posts", "posts", n)
	}
	if err != nil && ctx.Err() == nil {
		p.Log.ErrorContext(ctx, "publishing scheduled posts failed", "err", err)
	}
}
