package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/robfig/cron/v3"
	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

type serveCmd struct{ settings }

// Run runs the sites on their schedules and serves the feeds until p ends.
func (c *serveCmd) Run(p *program) error {
	return c.with(p, "", func(a *app) error {
		if _, err := a.keeper.Store(p); err != nil {
			return err
		}
		var lc net.ListenConfig
		l, err := lc.Listen(p, "tcp", a.file.Listen)
		if err != nil {
			return fmt.Errorf("config: listen: %w", err)
		}
		fmt.Fprintf(p.out, "serving feeds at %s/\n", call.URL(l))
		return a.serve(p, l, p.log)
	})
}

const atOnce = 4

// serve serves requests and makes runs until ctx ends. Then it waits for the running ones.
func (a *app) serve(ctx context.Context, l net.Listener, log *slog.Logger) error {
	all, ctx := errgroup.WithContext(ctx) // the context also ends when the server fails
	all.Go(func() error { return call.Serve(ctx, nil, l, a.server, time.Minute, log) })
	for _, name := range a.file.Names() {
		all.Go(func() error { return a.schedule(ctx, name, log) })
	}
	return all.Wait()
}

// schedule makes the runs of a site until ctx ends.
func (a *app) schedule(ctx context.Context, name string, log *slog.Logger) error {
	times, err := a.file.Sites[name].Schedule()
	if err != nil {
		return err
	}
	store, err := a.keeper.Store(ctx)
	if err != nil {
		return err
	}
	known, err := store.Site(ctx, name)
	if err != nil && !errors.Is(err, state.ErrNoSite) {
		return err
	}
	repeat(ctx, times, known.LastRun, func() {
		rep, err := a.attempt(ctx, name, true, log)
		switch {
		case err == nil:
			log.InfoContext(ctx, "the run has ended", "site", name, "report", rep.String(), "faults", rep.Faults)
		case ctx.Err() == nil:
			log.ErrorContext(ctx, "the run failed", "site", name, "err", err, "faults", rep.Faults)
		}
	})
	return nil
}

// repeat calls run at the given times until ctx ends. If it missed some since last, it first calls
// run once.
func repeat(ctx context.Context, times cron.Schedule, last time.Time, run func()) {
	for {
		if now := time.Now(); last.After(now) { // the clock was set back
			last = now
		}
		select {
		case <-time.After(time.Until(times.Next(last.UTC()))):
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // a select with both cases ready picks any
			return
		}
		last = time.Now()
		run()
	}
}
