// Command site is a blog on a SQLite file. It serves its public side from a cache. A write
// invalidates the pages that it changes, in all processes. Without a command it tells what its
// cache does, and ends.
//
//	go run ./examples/site
//	go run ./examples/site serve --db blog.db
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/twofold-go/twofold/examples/internal/command"
)

type cli struct {
	Story storyCmd `cmd:"" default:"1" help:"Make a few requests to a new blog; show and check what the cache does (the default)."`
	Serve serveCmd `cmd:"" help:"Serve a blog."`
}

type program struct {
	context.Context
	out io.Writer
	log *slog.Logger
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run returns the exit status: 1 if something failed, 2 if the arguments are wrong.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	p := &program{ctx, out, slog.New(slog.NewTextHandler(errs, nil))}
	return command.Run(&cli{}, "site", "A blog served from a cache.", args, out, errs, p)
}
