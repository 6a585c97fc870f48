package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/schedule"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
)

// grace is how long requests may go on after the program was told to end.
const grace = 10 * time.Second

// serve runs the sites by their schedules and serves the feeds, until ctx ends. A run
// under way ends at its next step; what it did stays done.
func serve(ctx context.Context, o options, out io.Writer, log *slog.Logger) error {
	return with(ctx, o, log, func(a *app) error {
		var c net.ListenConfig
		l, err := c.Listen(ctx, "tcp", a.file.Listen)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "serving feeds at http://%s/\n", l.Addr())
		jobs, err := a.jobs(ctx, log)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		return a.serve(ctx, l, jobs, log)
	})
}

// jobs returns the runs of all sites. When a site ran last is in the database.
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
				rep, err := a.runOne(ctx, site.Track(), site.IsIncremental())
				if err != nil && ctx.Err() == nil {
					log.ErrorContext(ctx, "run", "site", name, "err", err)
					return
				}
				log.InfoContext(ctx, "run", "site", name, "outcome", rep.Outcome, "new", rep.New, "changed", rep.Changed, "pending", rep.Pending,
					"failed", rep.Failed, "fetches", rep.Fetches(), "saved", rep.Saved, "published", rep.Published, "faults", len(rep.Faults))
			},
		})
	}
	return all, nil
}

// serve answers requests to l and runs jobs until ctx ends; then it lets what is under
// way finish.
func (a *app) serve(ctx context.Context, l net.Listener, jobs []schedule.Job, log *slog.Logger) error {
	srv := &http.Server{
		Handler:           a.server,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { schedule.Run(ctx, jobs, func() time.Time { return time.Now().UTC() }) })
	var ended error
	wg.Go(func() {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		ended = srv.Shutdown(ctx)
	})
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	cancel() // also when the server gave up by itself
	wg.Wait()
	return errors.Join(err, ended)
}
