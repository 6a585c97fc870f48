package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/twofold-go/twofold/examples/rsstracker/schedule"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

const grace = 10 * time.Second

type serveCmd struct{ settings }

// Run runs the sites on their schedules and serves the feeds until p ends.
func (c *serveCmd) Run(p *program) error {
	return c.with(p, "", func(a *app) error {
		jobs, err := a.jobs(p, p.log)
		if err != nil {
			return err
		}
		var lc net.ListenConfig
		l, err := lc.Listen(p, "tcp", a.file.Listen)
		if err != nil {
			return fmt.Errorf("config: listen: %w", err)
		}
		fmt.Fprintf(p.out, "serving feeds at http://%s/\n", l.Addr())
		return a.serve(p, l, jobs, p.log)
	})
}

const atOnce = 4

func (a *app) jobs(ctx context.Context, log *slog.Logger) (all []schedule.Job, err error) {
	store, err := a.keeper.Store(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range a.file.Names() {
		site := a.file.Sites[name]
		sched, err := site.Schedule()
		if err != nil {
			return nil, err
		}
		known, err := store.Site(ctx, name)
		if err != nil && !errors.Is(err, state.ErrNoSite) {
			return nil, err
		}
		all = append(all, schedule.Job{
			Name: name, Schedule: sched, Jitter: time.Duration(site.Jitter), Last: known.LastRun,
			Run: func(ctx context.Context) {
				rep, err := a.attempt(ctx, name, true, log)
				if err != nil && ctx.Err() == nil {
					log.ErrorContext(ctx, "the run failed", "site", name, "err", err, "faults", rep.Faults)
					return
				}
				log.InfoContext(ctx, "the run has ended", "site", name, "report", rep.String(), "faults", len(rep.Faults))
			},
		})
	}
	return all, nil
}

// serve serves requests and runs jobs until ctx ends. Then it waits for the running ones.
func (a *app) serve(ctx context.Context, l net.Listener, jobs []schedule.Job, log *slog.Logger) error {
	srv := &http.Server{
		Handler: a.server, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	all, ctx := errgroup.WithContext(ctx) // the context also ends when the server fails
	all.Go(func() error {
		schedule.Run(ctx, jobs, func() time.Time { return time.Now().UTC() })
		return nil
	})
	all.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		return srv.Shutdown(ctx)
	})
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		all.Go(func() error { return err })
	}
	return all.Wait()
}
