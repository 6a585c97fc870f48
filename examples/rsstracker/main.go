// Command rsstracker makes feeds of the new pages of sites that have a sitemap and no feed.
// Without arguments it tells a story.
//
//	go run ./examples/rsstracker run --config=sites.yaml
//	go run ./examples/rsstracker serve --config=sites.yaml
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program immediately
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

type cli struct {
	Story storyCmd `cmd:"" default:"1" help:"Follow an invented site through three runs (the default)."`
	Run   runCmd   `cmd:"" help:"Make one run of every site, or of one."`
	Serve serveCmd `cmd:"" help:"Run the sites on their schedules, and serve the feeds."`
	Stats statsCmd `cmd:"" help:"Print the statistics of the sites, as JSON."`
	Reset resetCmd `cmd:"" help:"Delete everything known of a site. Its next run is a first run."`
}

type program struct {
	context.Context
	out io.Writer
	log *slog.Logger
}

// run returns the exit status: 1 if something failed, 2 if the arguments are wrong.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	p := &program{ctx, out, slog.New(slog.NewTextHandler(errs, nil))}
	return command.Run(&cli{}, "rsstracker", "Feeds of the new pages of sites that have a sitemap and no feed.", args, out, errs, p)
}
