package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/twofold-go/twofold/examples/rsstracker/demo"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// errFailed ends the program with a status that says so; what failed was printed.
var errFailed = errors.New("at least one site failed")

func runDemo(ctx context.Context, o options, out io.Writer, _ *slog.Logger) error {
	return demo.Run(ctx, demo.Options{Dir: o.dir, Out: out})
}

// names returns the sites that a command is for.
func (a *app) names(o options) []string {
	if o.site != "" {
		return []string{o.site}
	}
	return a.file.Names()
}

// with opens the program, does something with it, and closes it.
func with(ctx context.Context, o options, log *slog.Logger, do func(a *app) error) error {
	a, err := open(ctx, o, log)
	if err != nil {
		return err
	}
	return errors.Join(do(a), a.Close())
}

// runSites makes one run of each site, one after the other. A site that fails does
// not keep the others from running.
func runSites(ctx context.Context, o options, out io.Writer, log *slog.Logger) error {
	return with(ctx, o, log, func(a *app) error {
		failed := false
		for _, name := range a.names(o) {
			site := a.file.Sites[name]
			rep, err := a.runOne(ctx, site.Track(), site.IsIncremental() && o.incremental)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			printRun(out, rep, err)
			failed = failed || err != nil && !errors.Is(err, state.ErrLeased) || rep.Outcome == state.Failed
		}
		if failed {
			return errFailed
		}
		return nil
	})
}

// runOne makes one run in the mode that was asked for.
func (a *app) runOne(ctx context.Context, s track.Site, incremental bool) (track.Report, error) {
	if !incremental {
		return a.tracker.Full(ctx, s)
	}
	return a.tracker.Run(ctx, s, track.Incremental)
}

// printRun prints what a run did, in a few lines.
func printRun(out io.Writer, r track.Report, err error) {
	switch {
	case errors.Is(err, state.ErrLeased):
		fmt.Fprintf(out, "%s: skipped, another run is under way\n", r.Site)
		return
	case err != nil:
		fmt.Fprintf(out, "%s: %v\n", r.Site, err)
		return
	}
	fmt.Fprintf(out, "%s: %s; %d new, %d changed, %d pending, %d skipped, %d failed; %d fetches, %d saved; %d published, %d updated\n",
		r.Site, r.Outcome, r.New, r.Changed, r.Pending, r.Skipped, r.Failed, r.Fetches(), r.Saved, r.Published, r.Updated)
	for _, f := range r.Faults {
		fmt.Fprintf(out, "%s:   %s\n", r.Site, f)
	}
}

// stats prints the numbers of the sites.
func stats(ctx context.Context, o options, out io.Writer, log *slog.Logger) error {
	return with(ctx, o, log, func(a *app) error {
		store, err := a.keeper.Store(ctx)
		if err != nil {
			return err
		}
		all := []state.Stats{}
		for _, name := range a.names(o) {
			st, err := store.Stats(ctx, name, time.Now())
			if err != nil && !errors.Is(err, state.ErrNoSite) {
				return err
			}
			st.Site = name
			all = append(all, st)
		}
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	})
}

// baseline makes runs that publish nothing.
func baseline(ctx context.Context, o options, out io.Writer, log *slog.Logger) error {
	return with(ctx, o, log, func(a *app) error {
		for _, name := range a.names(o) {
			rep, err := a.tracker.Run(ctx, a.file.Sites[name].Track(), track.Baseline)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: %s; %d pages are listed, %d were new or waiting and are old now\n", name, rep.Outcome, rep.Listed, rep.Silent+rep.Settled)
			if rep.Outcome == state.Failed {
				return errFailed
			}
		}
		return nil
	})
}

// reset forgets a site.
func reset(ctx context.Context, o options, out io.Writer, log *slog.Logger) error {
	return with(ctx, o, log, func(a *app) error {
		if err := a.tracker.Reset(ctx, o.site); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s: forgotten\n", o.site)
		return err
	})
}
