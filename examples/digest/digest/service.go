package digest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/semaphore"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// ErrConfig is wrapped by what is wrong with a [Config].
var ErrConfig = errors.New("digest: bad configuration")

// What a [Config] leaves zero.
const (
	DefaultMaxItems    = 500
	DefaultMaxCalls    = 8
	DefaultCostPerCall = 0.03 // dollars, as the source document reckons
	DefaultLoadTimeout = 5 * time.Minute
	DefaultBound       = 2 * time.Second
)

// Config says how a Service works. Store is required, and belongs to one Service.
type Config struct {
	Store *store.Store

	// Summariser writes the digests. Nil: summary.Extractive.
	Summariser summary.Summariser

	Zone  string         // whose calendar periods follow; empty: DefaultZone
	Grace *time.Duration // how long after its end a period is closed; nil: DefaultGrace

	// Options are what users get who want nothing else. Model and Prompt are the
	// Summariser's to say, and must be empty here.
	Options Options

	MaxCalls    int64         // of the summariser at a time; 0: DefaultMaxCalls
	LoadTimeout time.Duration // for one digest, waits included; 0: DefaultLoadTimeout
	CostPerCall float64       // for what Stats says was saved; 0: DefaultCostPerCall

	// Remote is where processes share cells instead of the store's file: a Redis, for
	// example. The digests are in the file all the same, so losing it costs no call. All
	// processes of a file need the same; the last that opens is right. Nil: the file.
	Remote tier.Remote

	Bound      time.Duration // of the log of invalidations, which is in the file; 0: DefaultBound
	ClaimTTL   time.Duration // how long others wait for a process that was killed; 0: the library's 3 s
	FlushEvery time.Duration // of counters; 0: a second
	CleanEvery time.Duration // of what has expired; 0: an hour
	Logger     *slog.Logger  // nil: slog.Default

	MeterProvider metric.MeterProvider // of the tiers; nil: the global one of OpenTelemetry
}

// Service generates digests. All methods may be called concurrently, and by several
// processes on one file.
type Service struct {
	cfg      Config
	store    *store.Store
	calendar Calendar
	calls    *semaphore.Weighted
	counts   *counter
	log      *slog.Logger

	news    *sqllog.Log
	tiers   *cache.Tiers
	readers cache.Cache[int64, reader]
	digests cache.Cache[DigestKey, Digest]
	rows    cache.Cache[rowKey, delivery]

	stop       context.CancelFunc
	background sync.WaitGroup
}

// Open returns a service that is ready: it has heard of all that was invalidated before.
// ctx bounds how long that may take. Close the service before the store.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	s, err := newService(cfg)
	if err == nil {
		err = s.openTiers(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.openCaches(), s.tiers.Ready(ctx)); err != nil {
		return nil, errors.Join(err, s.tiers.Close(ctx))
	}
	s.store.Watch(&store.Watcher{Changed: s.changed, Committed: s.committed})
	work, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.work(work) })
	return s, nil
}

// Close ends the service: what is under way is waited for until ctx ends, and what was
// counted is written.
func (s *Service) Close(ctx context.Context) error {
	s.stop()
	s.background.Wait()
	s.store.Watch(nil)
	err := s.tiers.Close(ctx)
	return errors.Join(err, s.counts.flush(ctx))
}

// Tiers returns the tiers, for whatever else the process caches.
func (s *Service) Tiers() *cache.Tiers { return s.tiers }

func newService(cfg Config) (*Service, error) {
	if cfg.Store == nil {
		return nil, fmt.Errorf("%w: Store is required", ErrConfig)
	}
	if cfg.Summariser == nil {
		cfg.Summariser = summary.NewExtractive()
	}
	cfg.MaxCalls = cmp.Or(cfg.MaxCalls, DefaultMaxCalls)
	cfg.CostPerCall = cmp.Or(cfg.CostPerCall, DefaultCostPerCall)
	cfg.LoadTimeout = cmp.Or(cfg.LoadTimeout, DefaultLoadTimeout)
	cfg.Bound = cmp.Or(cfg.Bound, DefaultBound)
	cfg.FlushEvery = cmp.Or(cfg.FlushEvery, time.Second)
	cfg.CleanEvery = cmp.Or(cfg.CleanEvery, time.Hour)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Grace == nil {
		cfg.Grace = new(DefaultGrace)
	}
	calendar, err := NewCalendar(cfg.Zone, *cfg.Grace)
	_, wrong := cfg.Options.normal()
	if err := errors.Join(err, wrong, cfg.check()); err != nil {
		return nil, err
	}
	return &Service{
		cfg: cfg, store: cfg.Store, calendar: calendar, log: cfg.Logger,
		calls: semaphore.NewWeighted(cfg.MaxCalls), counts: newCounter(cfg.Store),
	}, nil
}

func (c *Config) check() error {
	switch {
	case c.Options.Model != "" || c.Options.Prompt != "":
		return fmt.Errorf("%w: Options.Model and Options.Prompt are the Summariser's", ErrConfig)
	case c.MaxCalls < 0 || c.CostPerCall < 0:
		return fmt.Errorf("%w: MaxCalls %d and CostPerCall %v, must not be negative", ErrConfig, c.MaxCalls, c.CostPerCall)
	case c.LoadTimeout < 0 || c.Bound < 0 || c.ClaimTTL < 0 || c.FlushEvery < 0 || c.CleanEvery < 0:
		return fmt.Errorf("%w: durations must not be negative", ErrConfig)
	}
	return nil
}

// openTiers opens the log and, unless cells are somewhere else, the cells, in the store's
// file.
func (s *Service) openTiers(ctx context.Context) error {
	writer, readers := s.store.Pools()
	s.news = sqllog.New(writer, sqllog.Config{Dialect: sqllog.SQLite, Readers: readers, Bound: s.cfg.Bound, Logger: s.log})
	if err := s.news.Install(ctx); err != nil {
		return err
	}
	remote := s.cfg.Remote
	if remote == nil {
		file := sqltier.New(writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: readers})
		if err := file.Install(ctx); err != nil {
			return err
		}
		remote = file
	}
	var err error
	s.tiers, err = cache.Open(cache.TiersConfig{
		Remote: remote, Log: s.news, ClaimTTL: s.cfg.ClaimTTL, Logger: s.log, MeterProvider: s.cfg.MeterProvider,
	})
	if err != nil {
		return err
	}
	// Whatever the processes before had for a remote tier.
	if _, err := s.news.Sync(ctx, invalidate.Cursor{}, invalidate.Append{}); errors.Is(err, sqllog.ErrCells) {
		s.log.Warn("digest: cells were somewhere else until now; processes that still keep them there do without")
		return s.news.NewEpoch(ctx)
	}
	return nil
}

func (s *Service) openCaches() (err error) {
	// A file has no network between, and may be busy for as long as it says it waits.
	const remote = 6 * time.Second
	s.readers, err = cache.New(s.tiers, cache.Config[int64, reader]{
		Namespace: "reader:v1", // of who reads what, each process knows for itself
		Load:      s.loadReader,
		LocalOnly: true,
		Tags:      func(user int64, _ reader) []string { return []string{userTag(user)} },
		Policy:    policy.Patch{TTL: new(time.Hour), NegativeTTL: new(time.Duration(0))},
	})
	if err != nil {
		return err
	}
	s.digests, err = cache.New(s.tiers, cache.Config[DigestKey, Digest]{
		Namespace: "digest:v1",
		Tags: func(k DigestKey, d Digest) []string {
			return []string{keyTag(k), hashTag(d.Hash), hashTag(d.SourcesHash)}
		},
		Policy: policy.Patch{
			TTL: new(Daily.Retention()), Jitter: new(0.0), // each call brings that of its kind
			ErrorTTL: new(failureTTL), RemoteTimeout: new(remote), LoadTimeout: new(s.cfg.LoadTimeout),
		},
	})
	if err != nil {
		return err
	}
	s.rows, err = cache.New(s.tiers, cache.Config[rowKey, delivery]{
		Namespace: "row:v1",
		LocalOnly: true,
		Tags:      func(k rowKey, _ delivery) []string { return []string{userTag(k.User)} },
		Policy:    policy.Patch{TTL: new(time.Hour), LoadTimeout: new(s.cfg.LoadTimeout)},
	})
	return err
}
