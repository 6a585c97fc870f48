// Command site is a blog on a SQLite file. It serves its public side from a cache. A write
// invalidates the pages that it changes, in all processes.
//
//	go run ./examples/site
//	go run ./examples/site -addr :8080 -db blog.db -admin-key secret
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
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	o, err := parse(args, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := serve(ctx, o, out, newLogger(errs)); err != nil {
		fmt.Fprintln(errs, "site:", err)
		return 1
	}
	return 0
}

// maxLogged is the greatest length of a value in a log line, in bytes. Strangers choose paths.
const maxLogged = 400

func newLogger(to io.Writer) *slog.Logger {
	bounded := func(_ []string, a slog.Attr) slog.Attr {
		text := a.Value.Kind() == slog.KindString || a.Value.Kind() == slog.KindAny
		if s := a.Value.String(); text && len(s) > maxLogged {
			a.Value = slog.StringValue(strings.ToValidUTF8(s[:maxLogged], "") + "…")
		}
		return a
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: bounded}))
}
