// Command digest collects feeds and writes each combination of subscriptions one digest
// for each period, however many users, processes or retries ask for it. Without a command
// it is a demonstration that needs nothing: a day of a thousand users, on feeds that are
// made up.
//
//	go run ./examples/digest
//	go run ./examples/digest import sources.json
//	go run ./examples/digest serve
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	_ "time/tzdata" // periods follow a zone's calendar, also where the system knows none

	"github.com/alecthomas/kong"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/collector"
)

func main() {
	ctx, kill, stop := collector.Signals(context.Background())
	status := run(ctx, kill, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// cli is what the program can do.
type cli struct {
	Demo     demoCmd     `cmd:"" default:"withargs" help:"A day of many users on made-up feeds, in seconds (the default)."`
	Import   importCmd   `cmd:"" help:"Add sources, packs and users from a JSON file; prints the new users' keys."`
	Serve    serveCmd    `cmd:"" help:"Serve the API and the feeds, collect, and generate what closes."`
	Collect  collectCmd  `cmd:"" help:"Fetch what is due, once."`
	Generate generateCmd `cmd:"" help:"Generate the last closed period's digests for all users, or one."`
	Verify   verifyCmd   `cmd:"" help:"Look for users whose kept hash is not that of their subscriptions; status 1 if there are any left."`
	Bench    benchCmd    `cmd:"" help:"Measure hit ratios and times; status 1 if a promised figure is missed."`
}

// database is what commands on a database of one's own have in common.
type database struct {
	DB      string `name:"db" default:"digest.db" help:"The database's file, made if there is none." placeholder:"FILE"`
	EnvFile string `name:"env-file" help:"Settings that the environment does not have (default: .env, if there is one)." placeholder:"FILE"`
	Redis   string `help:"A Redis where processes share cells instead of in the file, as a URL; the same for all of them." placeholder:"URL"`
	Zone    string `help:"Whose calendar periods follow (${default})." default:"Asia/Singapore"`
	Private bool   `name:"allow-private" help:"Fetch from private addresses, too."`
}

// program is what a command runs in.
type program struct {
	context.Context
	kill     <-chan struct{}
	out, err io.Writer
	environ  []string
	log      *slog.Logger
}

// run is the program. It returns its exit status: 1 if something failed, 2 if it was
// called wrongly.
func run(ctx context.Context, kill <-chan struct{}, args, environ []string, out, errs io.Writer) int {
	var c cli
	exited := false
	parser, err := kong.New(
		&c, kong.Name("digest"), kong.Writers(out, errs), kong.ShortUsageOnError(),
		kong.Description("Feeds, and one digest per combination of subscriptions and period."),
		kong.Exit(func(int) { exited = true }), // help was asked for, and given
	)
	if err != nil {
		fmt.Fprintln(errs, "digest:", err)
		return 2
	}
	call, err := parser.Parse(args)
	switch {
	case exited:
		return 0
	case err != nil:
		parser.FatalIfErrorf(err)
		return 2
	}
	p := &program{Context: ctx, kill: kill, out: out, err: errs, environ: environ, log: slog.New(slog.NewTextHandler(errs, nil))}
	if err := call.Run(p); err != nil {
		fmt.Fprintln(errs, "digest:", err)
		return 1
	}
	return 0
}

// with runs fn with the program on its database, and closes that afterwards.
func (d *database) with(p *program, change func(c *app.Config), fn func(a *app.App) error) error {
	env, err := d.env(p)
	if err != nil {
		return err
	}
	cfg := app.Config{DB: d.DB, Redis: d.Redis, Env: env, Zone: d.Zone, AllowPrivate: d.Private, Key: env["API_KEY"], Log: p.log}
	if change != nil {
		change(&cfg)
	}
	a, err := app.Open(p, cfg)
	if err != nil {
		return err
	}
	err = fn(a)
	if p.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // somebody ended it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p), closing)
	defer cancel()
	return errors.Join(err, a.Close(ctx))
}

// env returns the settings. A file that was asked for has to be there.
func (d *database) env(p *program) (map[string]string, error) {
	name := d.EnvFile
	if name == "" {
		name = ".env"
	}
	f, err := os.Open(name)
	if d.EnvFile == "" && errors.Is(err, fs.ErrNotExist) {
		return collector.Env(nil, p.environ), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	file, err := collector.ReadEnvFile(f)
	return collector.Env(file, p.environ), err
}
