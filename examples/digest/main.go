// Command digest collects feeds and writes one digest for each combination of subscriptions
// and each period, for any number of users, processes and retries. Without a command
// it tells a story, which needs no configuration.
//
//	go run ./examples/digest
//	go run ./examples/digest import examples/digest/seed.sql
//	go run ./examples/digest serve
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	_ "time/tzdata" // periods need the zone, even on a system without zones

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/internal/command"
)

func main() {
	ctx, kill, stop := collector.Signals(context.Background())
	status := run(ctx, kill, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

type cli struct {
	Story    storyCmd    `cmd:"" default:"1" help:"Let many users read invented feeds for a morning, in seconds (the default)."`
	Import   importCmd   `cmd:"" help:"Add sources, packs and users by SQL; prints the new users' keys."`
	Serve    serveCmd    `cmd:"" help:"Serve the API and the feeds, fetch sources, and generate the digests of closed periods."`
	Collect  collectCmd  `cmd:"" help:"Fetch the due sources, once."`
	Generate generateCmd `cmd:"" help:"Generate the last closed period's digests for all users, or one."`
	Verify   verifyCmd   `cmd:"" help:"Find users whose stored hash does not match their subscriptions; status 1 if any remain."`
}

type program struct {
	context.Context
	kill     <-chan struct{}
	out, err io.Writer
	environ  []string
	log      *slog.Logger
}

// run returns the exit status: 1 if something failed, 2 if the arguments are wrong.
func run(ctx context.Context, kill <-chan struct{}, args, environ []string, out, errs io.Writer) int {
	p := &program{Context: ctx, kill: kill, out: out, err: errs, environ: environ, log: slog.New(slog.NewTextHandler(errs, nil))}
	return command.Run(&cli{}, "digest", "Feeds, and one digest per combination of subscriptions and period.", args, out, errs, p)
}
