// Package digest generates each digest once: for each combination of sources and each closed period, however many
// users, requests and processes ask for it.
//
// The user's sources and options hash to the combination. The digest of that hash and period comes from memory, or from
// the row of digest_cache, or one process claims the cell, asks the summariser, writes the row and fills the cell, while
// all others wait. When it cannot be made, the last one of the combination is served, marked stale, and the time of the
// next attempt is written down. A [cache.Cache] is in front, over the cells of a [sqltier.Tier] and a [sqllog.Log] in the
// store's file. A deletion writes what it invalidates in its own transaction, so each process hears of it.
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

// What a [Config] leaves zero, and what it does not say.
const (
	DefaultCostPerCall = 0.03            // dollars, as the source document reckons
	DefaultLoadTimeout = 5 * time.Minute // for one digest, waits included
	DefaultBound       = 2 * time.Second
	maxCalls           = 8 // of the summariser at a time
)

// Config says how a Service works.
type Config struct {
	Store        *store.Store
	Summariser   summary.Summariser // writes the digests; nil: summary.Extractive
	Zone         string             // whose calendar periods follow. The database keeps it: another one is [ErrZone]. Empty: the database's, or DefaultZone.
	CallsPerHour int64              // the budget of calls that all processes of the file share: see [BudgetError]. 0: no budget.
	// Remote is where processes share cells instead of the store's file: a Redis, for example. All processes of a file need the same.
	Remote        tier.Remote
	Bound         time.Duration        // of the log of invalidations, which is in the file; 0: DefaultBound
	ClaimTTL      time.Duration        // how long others wait for a process that was killed; 0: the library's 3 s
	ErrorTTL      time.Duration        // how long a failure is remembered without a look at the file; 0: 10 s, negative: not at all
	FlushEvery    time.Duration        // of counters; 0: a second
	Logger        *slog.Logger         // nil: slog.Default
	MeterProvider metric.MeterProvider // of the tiers; nil: the global one of OpenTelemetry
}

// Service generates digests. All methods may be called concurrently, and by several processes on one file.
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

// Open returns a service that is ready: it has heard of all that was invalidated before. ctx bounds how long that may take.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Store == nil {
		return nil, fmt.Errorf("%w: Store is required", ErrConfig)
	}
	cfg.Summariser = cmp.Or[summary.Summariser](cfg.Summariser, summary.NewExtractive())
	cfg.Bound = cmp.Or(cfg.Bound, DefaultBound)
	cfg.ErrorTTL = cmp.Or(cfg.ErrorTTL, 10*time.Second)
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

// Close ends the service: what is under way is waited for until ctx ends, and what was counted is written.
func (s *Service) Close(ctx context.Context) error {
	s.stop()
	s.background.Wait()
	err := s.tiers.Close(ctx)
	return errors.Join(err, s.counts.flush(ctx))
}

// Location returns the zone whose calendar periods follow.
func (s *Service) Location() *time.Location { return s.calendar.zone }

// Tiers returns the tiers, for whatever else the process caches.
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
	// Whatever the processes before had for a remote tier.
	if _, err := s.news.Sync(ctx, invalidate.Cursor{}, invalidate.Append{}); errors.Is(err, sqllog.ErrCells) {
		s.log.Warn("digest: cells were somewhere else until now; processes that still keep them there do without")
		return s.news.NewEpoch(ctx)
	}
	return nil
}

func (s *Service) openCache() (err error) {
	// A file has no network between, and may be busy for as long as it says it waits.
	const remote = 6 * time.Second
	s.digests, err = cache.New(s.tiers, cache.Config[DigestKey, Digest]{
		Namespace: "digest:v1",
		Tags:      func(_ DigestKey, d Digest) []string { return []string{hashTag(d.Hash), hashTag(d.SourcesHash)} },
		Policy: policy.Patch{
			TTL: new(Daily.Retention()), Jitter: new(0.0), // each call brings that of its kind
			ErrorTTL: new(max(s.cfg.ErrorTTL, 0)), RemoteTimeout: new(remote), LoadTimeout: new(DefaultLoadTimeout),
		},
	})
	return err
}
