// Package demo shows the tracker at work on a made-up site, which is served on
// loopback and grows, changes, breaks and recovers. Time is made up, too: ten runs,
// two hours apart, take seconds. What was promised is checked, and a promise that is
// not kept is an error.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/examples/rsstracker/feed"
	"github.com/twofold-go/twofold/examples/rsstracker/origin"
	"github.com/twofold-go/twofold/examples/rsstracker/state"
	"github.com/twofold-go/twofold/examples/rsstracker/track"
)

// Options say where the demonstration leaves what it makes. Out is required.
type Options struct {
	Dir string // of the database and the feeds. "": a new one in a temporary folder
	Out io.Writer
}

// Run runs the demonstration. The folder is left for the reader to look at.
func Run(ctx context.Context, opt Options) (err error) {
	if opt.Dir == "" {
		if opt.Dir, err = os.MkdirTemp("", "rsstracker"); err != nil {
			return err
		}
	}
	s := &site{broken: map[string]http.HandlerFunc{}}
	stop, err := listen(ctx, s)
	if err != nil {
		return err
	}
	defer stop()
	w := &world{site: s, dir: opt.Dir, out: opt.Out, now: time.Date(2026, time.March, 1, 6, 0, 0, 0, time.UTC), log: slog.New(slog.DiscardHandler)}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.open(); err != nil {
		return err
	}
	return w.story(ctx)
}

// listen serves the site on loopback until stop is called.
func listen(ctx context.Context, s *site) (stop func(), err error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // it ends by being closed
	}()
	return func() {
		_ = srv.Close() // of connections that nobody waits for
		<-done
	}, nil
}

// world is the site, the tracker and the clock.
type world struct {
	site *site
	dir  string
	out  io.Writer
	now  time.Time
	log  *slog.Logger

	keeper *state.Keeper
	net    *network
	at     func(string)
}

// network is what fetches: a client with a cache of its own.
type network struct {
	tiers  *cache.Tiers
	client *fetch.Client
	source *origin.Source
}

func (w *world) newNetwork() (*network, error) {
	tiers, err := cache.Open(cache.TiersConfig{Logger: w.log})
	if err != nil {
		return nil, err
	}
	client, err := fetch.New(fetch.Config{
		Tiers: tiers, UserAgent: "TwofoldRSSTracker/1.0 (+https://github.com/twofold-go/twofold)", AllowPrivate: true, Now: w.clock, Logger: w.log,
	})
	if err != nil {
		return nil, err
	}
	// Hours pass here in no time, so what the cache remembers by the real clock is
	// to be remembered for a moment.
	src, err := origin.New(client, tiers, origin.Options{Fresh: time.Millisecond, Dead: time.Millisecond})
	return &network{tiers, client, src}, err
}

func (n *network) close() error {
	n.client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return n.tiers.Close(ctx)
}

func (w *world) clock() time.Time { return w.now }

func (w *world) open() (err error) {
	w.keeper = state.NewKeeper(filepath.Join(w.dir, "rss_incremental.db"), state.Options{Relaxed: true}, w.clock, w.log)
	w.net, err = w.newNetwork()
	return err
}

func (w *world) close() error {
	err := w.keeper.Close()
	if w.net != nil {
		err = errors.Join(err, w.net.close())
	}
	return err
}

// what is tracked, and how.
func (w *world) tracked() track.Site {
	return track.Site{
		Name: "demo", Home: w.site.url, Updates: true, CleanEvery: 7 * 24 * time.Hour,
		Channel: feed.Channel{Title: "What is new", Description: "New posts of a site that is made up", Link: w.site.url + "/", Base: "https://feeds.example.org/demo"},
	}
}

func (w *world) tracker(n *network, dir string) *track.Tracker {
	return track.New(track.Config{Keeper: w.keeper, Source: n.source, Dir: dir, Now: w.clock, Log: w.log, At: w.at})
}

// died stands for a process that was killed.
type died struct{}

// run makes one run. With a point, the process is killed there: nothing after it
// happens, and what was not committed is not done.
func (w *world) run(ctx context.Context, point string) (rep track.Report, dead bool, err error) {
	if point != "" {
		w.at = func(at string) {
			if at == point {
				panic(died{})
			}
		}
		defer func() {
			w.at = nil
			if v := recover(); v == (died{}) {
				dead = true
			} else if v != nil {
				panic(v)
			}
		}()
	}
	rep, err = w.tracker(w.net, w.dir).Run(ctx, w.tracked(), track.Incremental)
	return rep, false, err
}

// printf writes to the reader.
func (w *world) printf(format string, args ...any) { fmt.Fprintf(w.out, format, args...) }
