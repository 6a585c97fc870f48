// Command site is a blog: pages, feeds and an API for the public, an admin API to
// write with, and a job that publishes what is scheduled, on a SQLite file or a
// PostgreSQL database. It fills a new database with a few hundred posts, and prints what
// to try. Its public side comes from a cache until something that it shows is written,
// by this process or by another one on the same database.
//
//	go run ./examples/site
//	go run ./examples/site -addr :8080 -db blog.db -admin-key secret
//	go run ./examples/site -db postgres://localhost/blog
//	go run ./examples/site -demo
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
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are what the flags say.
type options struct {
	addr     string
	db       string
	adminKey string
	cache    bool
	demo     bool
}

// run is the program. It returns its exit status.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var o options
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.addr, "addr", "", "address to listen on (default: "+usualAddr+", or a free port if that is taken)")
	flags.StringVar(&o.db, "db", "", "database: a SQLite file, made if there is none, or postgres://… (default: a new file in a temporary folder)")
	flags.StringVar(&o.adminKey, "admin-key", "", "bearer key of the admin API (default: a new one, printed)")
	flags.BoolVar(&o.cache, "cache", true, "cache objects and responses")
	flags.BoolVar(&o.demo, "demo", false, "show a hit, a write and the fresh page, check them, and end")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "site: argument %q is not a flag\n", flags.Arg(0))
		return 2
	}
	if o.demo && !o.cache {
		fmt.Fprintln(errs, "site: -demo shows what the cache does, and -cache=false leaves it off")
		return 2
	}
	if err := serve(ctx, o, out, slog.New(slog.NewTextHandler(errs, nil))); err != nil {
		fmt.Fprintln(errs, "site:", err)
		return 1
	}
	return 0
}
