// Command rsstracker makes feeds of what is really new on sites that have a sitemap
// and no feed. Without a command it is a demonstration that needs nothing: a site on
// loopback grows, changes, breaks and recovers, and ten runs follow it.
//
//	go run ./examples/rsstracker
//	go run ./examples/rsstracker run -config sites.yaml
//	go run ./examples/rsstracker serve -config sites.yaml
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are what the flags say.
type options struct {
	config      string
	site        string
	dir         string
	incremental bool
}

// commands are what the program can do, each with the flags it knows.
var commands = map[string]struct {
	flags string
	help  string
	do    func(ctx context.Context, o options, out io.Writer, log *slog.Logger) error
}{
	"demo":     {"dir", "follow a site that is made up, and check what was promised (the default)", runDemo},
	"run":      {"config site incremental", "make one run of every site, or of one", runSites},
	"serve":    {"config", "run the sites by their schedules, and serve the feeds", serve},
	"stats":    {"config site", "print what is known of the sites, as JSON", stats},
	"baseline": {"config site", "take everything there is now for old", baseline},
	"reset":    {"config site", "forget all about a site; its next run is the first", reset},
}

// run is the program. It returns its exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	name := "demo"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	cmd, ok := commands[name]
	if !ok {
		fmt.Fprintf(errs, "rsstracker: %q is none of baseline, demo, reset, run, serve, stats\n", name)
		return 2
	}
	o, err := parse(name, cmd.flags, args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, "rsstracker:", err)
		return 2
	}
	if err := cmd.do(ctx, o, out, slog.New(slog.NewTextHandler(errs, nil))); err != nil {
		fmt.Fprintln(errs, "rsstracker:", err)
		return 1
	}
	return 0
}

// parse reads the flags of a command.
func parse(name, known string, args []string, errs io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("rsstracker "+name, flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprintf(errs, "rsstracker %s: %s\n", name, commands[name].help)
		flags.PrintDefaults()
	}
	for f := range strings.FieldsSeq(known) {
		switch f {
		case "config":
			flags.StringVar(&o.config, "config", "rsstracker.yaml", "the configuration")
		case "site":
			flags.StringVar(&o.site, "site", "", "the site's name (default: all)")
		case "dir":
			flags.StringVar(&o.dir, "dir", "", "folder for the database and the feeds (default: a new one in a temporary folder)")
		case "incremental":
			flags.BoolVar(&o.incremental, "incremental", true, "only what is new since the last run; false: everything, without the database")
		}
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q is not a flag", flags.Arg(0))
	}
	if name == "reset" && o.site == "" {
		return o, errors.New("reset wants a -site")
	}
	return o, nil
}
