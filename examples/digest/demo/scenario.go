package demo

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/newsroom"
	"github.com/twofold-go/twofold/examples/digest/population"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// closing is how long what is under way may take when the program ends, or restarts.
const closing = 10 * time.Second

// scenario is a demonstration under way. Its methods are called by one goroutine.
type scenario struct {
	cfg      Config
	clock    clock
	calendar digest.Calendar
	day      digest.Window // that is lived through
	bar      bar
	meter    *meter

	news   *newsroom.Newsroom
	base   string // the newsroom's address
	server *http.Server
	served sync.WaitGroup
	app    *app.App

	sources   []int64 // the most popular first
	packs     []store.Pack
	deleted   int64    // a source; 0: none yet
	recovered []string // sources that failed, and how often

	collected collector.Counts // by programs that have ended
	tallies   map[digest.Kind]*tally
	worst     combinations // of the periods of four hours
	daily     combinations
	timings   map[digest.Origin][]time.Duration // of single requests
	promises  promises
}

// clock is a clock that stands still until it is set. It may be read concurrently.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time   { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) set(at time.Time) { c.ms.Store(at.UnixMilli()) }

func newScenario(cfg Config) *scenario {
	s := &scenario{
		cfg: cfg, meter: newMeter(cfg.Summariser), bar: newBar(cfg.Progress, length(cfg)),
		tallies: map[digest.Kind]*tally{digest.FourHours: {}, digest.Daily: {}},
		timings: map[digest.Origin][]time.Duration{},
	}
	return s
}

// open serves the newsroom and opens the program.
func (s *scenario) open(ctx context.Context) (err error) {
	if s.calendar, err = digest.NewCalendar("", digest.DefaultGrace); err != nil {
		return err
	}
	s.day = s.calendar.Containing(digest.Daily, time.Date(2026, time.February, 25, 4, 0, 0, 0, time.UTC))
	s.clock.set(s.dawn())
	s.news, err = newsroom.New(newsroom.Config{Seed: s.cfg.Seed, Now: s.clock.now, Day: s.day.Start})
	if err != nil {
		return err
	}
	if err := s.serve(ctx); err != nil {
		return err
	}
	return s.start(ctx)
}

// serve serves the newsroom on a port that is free.
func (s *scenario) serve(ctx context.Context) error {
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.base = "http://" + l.Addr().String()
	s.server = &http.Server{
		Handler: s.news, ReadHeaderTimeout: closing, ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
	s.served.Go(func() { _ = s.server.Serve(l) }) // it ends by being closed
	return nil
}

// start opens the program.
func (s *scenario) start(ctx context.Context) (err error) {
	s.app, err = app.Open(ctx, app.Config{
		DB: s.cfg.DB, Summariser: s.meter, Now: s.clock.now, Log: s.cfg.Log,
		AllowPrivate: true, Services: newsroom.Services(s.base),
		// All sources are on one host here, which would rather have the day over.
		Env: map[string]string{"COLLECTOR_PER_HOST": "8", "COLLECTOR_CONCURRENCY": "8"},
	})
	return err
}

// stop closes the program, and keeps what it has counted.
func (s *scenario) stop(ctx context.Context) error {
	if s.app == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	s.collected = sum(s.collected, s.app.Collector.Counts())
	err := s.app.Close(ctx)
	s.app = nil
	return err
}

// close closes everything.
func (s *scenario) close(ctx context.Context) error {
	err := s.stop(ctx)
	if s.server != nil {
		err = errors.Join(err, s.server.Close())
		s.served.Wait()
	}
	return err
}

// settle adds the sources, packs and users.
func (s *scenario) settle(ctx context.Context) (err error) {
	if s.sources, s.packs, err = newsroom.Install(ctx, s.app.Store, s.base); err != nil {
		return err
	}
	return population.Fill(ctx, s.app.Store, population.Config{
		Users: s.cfg.Users, Seed: s.cfg.Seed, Sources: s.sources, Packs: s.packs, Uniform: s.cfg.Uniform,
		Progress: func(done int) { s.bar.at(settling*done/s.cfg.Users, "users subscribe") },
	})
}

// sum adds what two programs have counted.
func sum(a, b collector.Counts) collector.Counts {
	return collector.Counts{
		Claimed: a.Claimed + b.Claimed, Succeeded: a.Succeeded + b.Succeeded, NotModified: a.NotModified + b.NotModified,
		Failed: a.Failed + b.Failed, Returned: a.Returned + b.Returned, Lost: a.Lost + b.Lost, Unstored: a.Unstored + b.Unstored,
		New: a.New + b.New, Updated: a.Updated + b.Updated,
	}
}
