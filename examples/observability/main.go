// Command observability serves the metrics and the operator's page of a cache under invented
// load. It gives the alerts and the dashboard of this folder data to show.
//
//	go run ./examples/observability
//	curl http://127.0.0.1:9464/metrics
//	curl -H 'Accept: application/json' http://127.0.0.1:9464/caches
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"
)

// pause is the time between two rounds of reads. It makes about a thousand reads a second.
const pause = 100 * time.Millisecond

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "observability:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("observability", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:9464", "`address` of /metrics and /caches")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("argument %q is not a flag", flags.Arg(0))
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return fmt.Errorf("flag -listen: %w", err)
	}
	s, err := newShop()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(out, "metrics at http://%s/metrics, the operator's page at http://%[1]s/caches\n", l.Addr())
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for ctx.Err() == nil && err == nil {
		s.round(ctx)
		select {
		case <-ctx.Done():
		case err = <-served:
		case <-tick.C:
		}
	}
	return errors.Join(err, server.Close(), s.close())
}
