// Package digest generates each digest once for each combination of sources and each closed
// period, no matter how many users, requests and processes ask for it.
//
// A user's sources and options hash to the combination. The digest of that hash and period
// comes from memory, from the remote tier, or from its row in digest_cache. If there is no
// row, one process claims the cell, calls the summariser, writes the row and fills the
// cell. All others wait for it.
//
// If the digest cannot be generated, all processes remember the error for a moment.
//
// A [cache.Cache] is in front. Its cells are in a [sqltier.Tier], and its invalidations in
// a [sqllog.Log], both in the store's file. A deletion appends its invalidations to the log
// in its own transaction, so each process applies them.
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

// ErrConfig is wrapped by errors about a [Config].
var ErrConfig = errors.New("digest: bad configuration")

// The defaults of a [Config], and fixed limits.
const (
	DefaultCostPerCall = 0.03            // dollars, from the source document
	DefaultLoadTimeout = 5 * time.Minute // for one digest, including waits
	DefaultBound       = 2 * time.Second
	maxCalls           = 8 // concurrent calls of the summariser
)

// Config configures a Service.
type Config struct {
	Store      *store.Store
	Summariser summary.Summariser // writes the digests; nil means summary.Extractive
	Zone       string             // time zone of the periods, stored in the database; another one is [ErrZone]. Empty means the database's or DefaultZone
	// Remote stores the cells that processes share, for example in Redis, instead of the
	// store's file. All processes of a file need the same kind.
	Remote        tier.Remote
	Bound         time.Duration        // of the log of invalidations in the file; zero means DefaultBound
	ClaimTTL      time.Duration        // how long other processes wait for a killed one; zero means the library's 3 s
	ErrorTTL      time.Duration        // how long a failure is remembered without reading the file; 0 means a minute, negative means not at all
	FlushEvery    time.Duration        // of counters; zero means a second
	Logger        *slog.Logger         // nil means slog.Default
	MeterProvider metric.MeterProvider // for the tiers; nil means the global one of OpenTelemetry
}

// Service generates digests. All methods may be called concurrently, even by several processes.
type Service struct {
	cfg        Config
	store      *store.Store
	calendar   Calendar
	calls      *semaphore.Weighted
	counts     *counter
	log        *slog.Logger
	news       *sqllog.Log
	tiers      *cache.Tiers
	digests    cache.Cache[DigestKey, Digest]
	stop       context.CancelFunc
	background sync.WaitGroup
}

// Open returns a service that has read all earlier invalidations. ctx limits the time for this.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Store == nil {
		return nil, fmt.Errorf("%w: Store is required", ErrConfig)
	}
	cfg.Summariser = cmp.Or[summary.Summariser](cfg.Summariser, summary.NewExtractive())
	cfg.Bound = cmp.Or(cfg.Bound, DefaultBound)
	cfg.ErrorTTL = cmp.Or(cfg.ErrorTTL, time.Minute)
	cfg.FlushEvery = cmp.Or(cfg.FlushEvery, time.Second)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	calendar, err := settle(ctx, cfg.Store, cfg.Zone)
	if err != nil {
		return nil, err
	}
	s := &Service{
		cfg: cfg, store: cfg.Store, calendar: calendar, log: cfg.Logger,
		calls: semaphore.NewWeighted(maxCalls), counts: newCounter(cfg.Store),
	}
	if err := s.openTiers(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(s.openCache(), s.tiers.Ready(ctx)); err != nil {
		return nil, errors.Join(err, s.tiers.Close(ctx))
	}
	work, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.work(work) })
	return s, nil
}

// Close ends the service. It waits for running generation until ctx ends, and writes the counters.
func (s *Service) Close(ctx context.Context) error {
	s.stop()
	s.background.Wait()
	err := s.tiers.Close(ctx)
	return errors.Join(err, s.counts.flush(ctx))
}

// Location returns the time zone of the periods.
func (s *Service) Location() *time.Location { return s.calendar.zone }

// Tiers returns the tiers, for other caches of the process.
func (s *Service) Tiers() *cache.Tiers { return s.tiers }

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
	// Earlier processes may have used another remote tier.
	if _, err := s.news.Sync(ctx, invalidate.Cursor{}, invalidate.Append{}); errors.Is(err, sqllog.ErrCells) {
		s.log.Warn("digest: the remote tier was changed; processes that still use the old one work without a cache")
		return s.news.NewEpoch(ctx)
	}
	return nil
}

func (s *Service) openCache() (err error) {
	// The file is local, but may be busy for as long as its busy timeout.
	const remote = 6 * time.Second
	s.digests, err = cache.New(s.tiers, cache.Config[DigestKey, Digest]{
		Namespace: "digest:v1",
		Tags:      func(_ DigestKey, d Digest) []string { return []string{hashTag(d.Hash), hashTag(d.SourcesHash)} },
		Policy: policy.Patch{
			TTL: new(Daily.Retention()), Jitter: new(0.0), // each call sets the TTL of its kind
			ErrorTTL: new(max(s.cfg.ErrorTTL, 0)), RemoteTimeout: new(remote), LoadTimeout: new(DefaultLoadTimeout),
		},
	})
	return err
}
