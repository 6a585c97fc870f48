package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

var (
	errFailed      = errors.New("at least one site failed")
	errInterrupted = errors.New("interrupted: the next run does the rest")
)

type settings struct {
	Config string `default:"rsstracker.yaml" help:"The configuration (${default})." placeholder:"FILE"`
}

type runCmd struct {
	settings
	Site        string `help:"The site's name (default: all)." placeholder:"NAME"`
	Incremental bool   `default:"true" negatable:"" help:"Only new pages (${default}); --no-incremental: all pages, without the database."`
}

// Run makes one run of each site. A failed site does not stop the others.
func (c *runCmd) Run(p *program) error {
	return c.with(p, c.Site, func(a *app) error {
		if c.Incremental {
			if _, err := a.keeper.Store(p); err != nil {
				return err
			}
		}
		var failed error
		ctx := fetch.Anew(p) // a person may have repaired what stopped the run before
		for _, name := range a.names(c.Site) {
			rep, err := a.attempt(ctx, name, c.Incremental, p.log)
			if p.Err() != nil {
				return errInterrupted
			}
			printRun(p.out, name, rep, err)
			if err != nil && !errors.Is(err, state.ErrLeased) {
				failed = errFailed
			}
		}
		return failed
	})
}

// attempt makes one run of a site with retries. Each wait is about six times the one before.
func (a *app) attempt(ctx context.Context, name string, incremental bool, log *slog.Logger) (track.Report, error) {
	site := a.file.Sites[name]
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = time.Duration(site.RetryDelay), 6, time.Hour
	retry := false
	return backoff.Retry(ctx, func() (rep track.Report, err error) {
		if err := a.turns.Acquire(ctx, 1); err != nil {
			return rep, backoff.Permanent(err)
		}
		defer a.turns.Release(1) // not held while the run waits for its retry
		if retry {
			ctx = fetch.Anew(ctx) // the first try has stored that the site does not answer
		}
		retry = true
		if incremental && site.Incremental {
			rep, err = a.tracker.Run(ctx, site)
		} else {
			rep, err = a.tracker.Full(ctx, site)
		}
		_, file := errors.AsType[*fs.PathError](err) // of the output
		if err == nil && rep.Outcome == state.Failed {
			err = errFailed
		}
		if errors.Is(err, state.ErrLeased) || rep.Permanent || file || ctx.Err() != nil {
			err = backoff.Permanent(err)
		}
		return rep, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(site.Retries)+1), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, wait time.Duration) {
			log.WarnContext(ctx, "the run failed; it is retried", "site", name, "err", err, "wait", wait.Round(time.Second))
		}))
}

func printRun(out io.Writer, name string, r track.Report, err error) {
	switch {
	case errors.Is(err, state.ErrLeased):
		fmt.Fprintf(out, "%s: skipped, because another run is in progress\n", name)
		return
	case err != nil && !errors.Is(err, errFailed):
		fmt.Fprintf(out, "%s: %v\n", name, err)
		return
	}
	fmt.Fprintf(out, "%s: %s\n", name, r)
	for _, f := range r.Faults {
		fmt.Fprintf(out, "%s:   %s\n", name, f)
	}
}

type statsCmd struct {
	settings
	Site string `help:"The site's name (default: all)." placeholder:"NAME"`
}

func (c *statsCmd) Run(p *program) error {
	return c.with(p, c.Site, func(a *app) error {
		store, err := a.keeper.Store(p)
		if err != nil {
			return err
		}
		all, err := store.Stats(p, time.Now(), a.names(c.Site)...)
		if err != nil {
			return err
		}
		e := json.NewEncoder(p.out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	})
}

type resetCmd struct {
	settings
	Site string `required:"" help:"The site's name." placeholder:"NAME"`
}

func (c *resetCmd) Run(p *program) error {
	return c.with(p, c.Site, func(a *app) error {
		if err := a.tracker.Reset(p, c.Site); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.out, "%s: state deleted\n", c.Site)
		return err
	})
}
