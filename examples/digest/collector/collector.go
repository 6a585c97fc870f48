package collector

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/pool"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// What a zero field of [Settings] or [Config] means.
const (
	DefaultTick         = time.Minute
	DefaultConcurrency  = 5
	DefaultPerHost      = 2
	DefaultFetchTimeout = time.Minute
	DefaultKeepItems    = 30 * 24 * time.Hour
)

// Config says what a collector is. Store, Tiers and Fetchers are required.
type Config struct {
	Store    *store.Store // its clock is the collector's
	Tiers    *cache.Tiers // where the list of sources is cached
	Fetchers map[string]fetchers.Fetcher
	Settings Settings

	// Schedule is the policy but for Probe, which is in Settings.
	Schedule schedule.Policy

	// Name is the collector's among those on one database. Empty: one that nobody
	// else has.
	Name string

	FetchTimeout time.Duration // of a whole fetch, redirects and all. 0: DefaultFetchTimeout
	Drain        time.Duration // see [pool.Pool]. 0: pool.DefaultDrain
	KeepItems    time.Duration // after a source has last listed them. 0: DefaultKeepItems
	Log          *slog.Logger  // Nil: slog.Default
}

// Collector fetches sources. Make one with [New]. All methods may be called
// concurrently; status and health tell of all collectors on the database, also when
// this one does not run.
type Collector struct {
	cfg     Config
	types   []string // that have fetchers
	sources cache.Cache[string, []known]
	counts  counters

	mu   sync.Mutex
	told map[string]bool // what was warned of: once is enough
}

// New returns the collector that cfg describes.
func New(cfg Config) (*Collector, error) {
	if cfg.Store == nil || cfg.Tiers == nil || len(cfg.Fetchers) == 0 {
		return nil, errors.New("collector: Store, Tiers and Fetchers are required")
	}
	cfg.Settings.Tick = cmp.Or(cfg.Settings.Tick, DefaultTick)
	cfg.Settings.Concurrency = cmp.Or(cfg.Settings.Concurrency, DefaultConcurrency)
	cfg.Settings.PerHost = cmp.Or(cfg.Settings.PerHost, DefaultPerHost)
	cfg.FetchTimeout = cmp.Or(cfg.FetchTimeout, DefaultFetchTimeout)
	cfg.KeepItems = cmp.Or(cfg.KeepItems, DefaultKeepItems)
	cfg.Schedule.Probe = cfg.Settings.Probe
	if cfg.Name == "" {
		host, _ := os.Hostname() // only for people who look into the table
		cfg.Name = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	c := &Collector{cfg: cfg, types: fetchers.Types(cfg.Fetchers), told: map[string]bool{}}
	var err error
	if c.sources, err = c.newSources(); err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	return c, nil
}

// Run fetches what is due until ctx ends, then lets the fetches under way end, for up to
// Drain or until kill is closed, and gives back all leases. A fetch that was cut short
// counts for nothing: its source is as due as before. Then the error is
// [pool.ErrCut]. [Signals] makes ctx and kill.
func (c *Collector) Run(ctx context.Context, kill <-chan struct{}) error {
	defer c.returnLeases(ctx)
	c.cfg.Log.InfoContext(ctx, "collector runs", "name", c.cfg.Name, "tick", c.cfg.Settings.Tick, "types", c.types)
	cleaning, stop := context.WithCancel(ctx)
	var cleaner sync.WaitGroup
	cleaner.Go(func() { pool.Every(cleaning, time.Hour, c.clean) })
	defer cleaner.Wait()
	defer stop()
	return c.pool().Run(ctx, kill)
}

// RunOnce fetches what is due now, removes what is old, and returns when that is done: a
// program that a cron job starts is never there when an hour is over. It stops as Run does.
func (c *Collector) RunOnce(ctx context.Context, kill <-chan struct{}) error {
	defer c.returnLeases(ctx)
	err := c.pool().RunAll(ctx, kill)
	c.clean(ctx)
	return err
}

func (c *Collector) pool() pool.Pool[store.Lease] {
	return pool.Pool[store.Lease]{
		Claim: c.claim,
		Do:    func(ctx context.Context, l store.Lease) { c.fetch(ctx, l) },
		Size:  c.cfg.Settings.Concurrency, Tick: c.cfg.Settings.Tick, Drain: c.cfg.Drain, Log: c.cfg.Log,
	}
}

func (c *Collector) claim(ctx context.Context, n int) ([]store.Lease, bool, error) {
	c.prepare(ctx)
	leases, more, err := c.cfg.Store.ClaimDue(ctx, store.Claim{
		Owner: c.cfg.Name, For: c.lease(), Types: c.types, Max: n,
		Skew: schedule.Skew(c.cfg.Settings.Tick), Probe: c.cfg.Settings.Probe > 0,
		HostOf: c.hostOf, PerHost: c.cfg.Settings.PerHost,
	})
	c.counts.claimed.Add(int64(len(leases)))
	return leases, more, err
}

// lease returns how long a lease lasts: longer than any fetch can take, with time to
// store it, so that none needs to be renewed.
func (c *Collector) lease() time.Duration { return c.cfg.FetchTimeout + time.Minute }

// returnLeases gives back what this collector still holds, so that nobody has to wait
// until it runs out.
func (c *Collector) returnLeases(ctx context.Context) {
	ctx, cancel := storing(ctx)
	defer cancel()
	if err := c.cfg.Store.ReturnLeases(ctx, c.cfg.Name); err != nil {
		c.cfg.Log.ErrorContext(ctx, "leases were not returned, and will run out", "err", err)
	}
}

// clean removes what is old.
func (c *Collector) clean(ctx context.Context) {
	cleaned, err := c.cfg.Store.Clean(ctx, c.cfg.Store.Now().Add(-c.cfg.KeepItems))
	if err != nil && ctx.Err() == nil {
		c.cfg.Log.ErrorContext(ctx, "cleaning failed", "err", err)
	}
	if cleaned.Items > 0 {
		c.cfg.Log.InfoContext(ctx, "cleaned", "items", cleaned.Items, "logs", cleaned.Logs)
	}
}

// storing returns the context for storing something that is already decided: it does
// not end with ctx.
func storing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

// once reports whether it is called for the first time with these words.
func (c *Collector) once(words string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.told[words]
	c.told[words] = true
	return first
}
