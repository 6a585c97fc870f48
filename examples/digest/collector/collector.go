// Package collector fetches sources when they are due, and stores their items.
//
// A claim is a lease in the source's row. One transaction ends the lease and stores the
// items, the schedule and the log entry.
package collector

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/collector/pool"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// SourcesTag is the tag of the cached reviews. The other constants are the defaults of [Settings].
const (
	SourcesTag         = "sources"
	DefaultTick        = time.Minute
	DefaultConcurrency = 5
	DefaultPerHost     = 2
)

// Config describes a collector. Store, Tiers and Fetchers are required.
type Config struct {
	Store        *store.Store // the collector uses its clock
	Tiers        *cache.Tiers // cache the reviews of all sources
	Fetchers     map[string]fetchers.Fetcher
	Settings     Settings
	Schedule     schedule.Policy // New replaces its Probe by that of Settings
	Name         string          // unique in the database. Empty means a random one
	FetchTimeout time.Duration   // of a whole fetch, including redirects. Zero means a minute
	KeepItems    time.Duration   // how long items are kept after their source last listed them. Zero means 30 days
	Private      bool            // the fetchers may use private addresses: sources that failed for lack of this are due again
	Log          *slog.Logger    // nil means slog.Default
}

// Collector fetches sources. Its methods may be called concurrently.
type Collector struct {
	cfg     Config
	types   []string // the types that have fetchers
	reviews cache.Cache[string, int]
	told    sync.Map     // warnings that were already logged
	cleaned atomic.Int64 // time of the last cleaning, in milliseconds
	mu      sync.Mutex   // protects counts
	counts  Counts
}

// New returns the collector that cfg describes.
func New(cfg Config) (*Collector, error) {
	if cfg.Store == nil || cfg.Tiers == nil || len(cfg.Fetchers) == 0 {
		return nil, errors.New("collector: Store, Tiers and Fetchers are required")
	}
	cfg.Settings.Tick = cmp.Or(cfg.Settings.Tick, DefaultTick)
	cfg.Settings.Concurrency = cmp.Or(cfg.Settings.Concurrency, DefaultConcurrency)
	cfg.Settings.PerHost = cmp.Or(cfg.Settings.PerHost, DefaultPerHost)
	cfg.FetchTimeout = cmp.Or(cfg.FetchTimeout, time.Minute)
	cfg.KeepItems = cmp.Or(cfg.KeepItems, 30*24*time.Hour)
	cfg.Schedule.Probe = cfg.Settings.Probe
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	if cfg.Name == "" {
		host, _ := os.Hostname() // only for people who read the table
		cfg.Name = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
	}
	c := &Collector{cfg: cfg, types: fetchers.Types(cfg.Fetchers)}
	reviews, err := cache.New(cfg.Tiers, cache.Config[string, int]{
		Namespace: "sources:v1",
		LocalOnly: true, // a review depends on the settings of this process
		Tags:      func(string, int) []string { return []string{SourcesTag} },
		Policy:    policy.Patch{TTL: new(cfg.Settings.Tick), Jitter: new(0.0)}, // without a log, changes by other processes take effect a tick later
		Load:      c.review,
	})
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	c.reviews = reviews
	return c, nil
}

// Run fetches due sources until ctx ends. It stops like [pool.Pool.Run]. See [Signals] for kill.
func (c *Collector) Run(ctx context.Context, kill <-chan struct{}) error {
	c.cfg.Log.InfoContext(ctx, "collector runs", "name", c.cfg.Name, "tick", c.cfg.Settings.Tick,
		"types", c.types, "intervals", c.cfg.Settings.Intervals.All())
	if err := c.forgive(ctx); err != nil {
		return err
	}
	return c.pool().Run(ctx, kill)
}

// RunOnce fetches the sources that are due now. It stops as Run does.
func (c *Collector) RunOnce(ctx context.Context, kill <-chan struct{}) error {
	if err := c.forgive(ctx); err != nil {
		return err
	}
	return c.pool().RunAll(ctx, kill)
}

// private are the kinds of failures that [Config.Private] prevents.
var private = []string{fetch.ErrPrivateAddress.Error(), fetch.ErrPort.Error()}

// forgive makes the sources due that another run refused because their addresses are private.
func (c *Collector) forgive(ctx context.Context) error {
	if !c.cfg.Private {
		return nil
	}
	return c.cfg.Store.ResumeFailed(ctx, private...)
}

func (c *Collector) pool() pool.Pool[store.Lease] {
	return pool.Pool[store.Lease]{
		Claim: func(ctx context.Context, n int) ([]store.Lease, bool, error) {
			c.clean(ctx)
			if _, err := c.reviews.Get(ctx, "all"); err != nil && ctx.Err() == nil { // claiming does not depend on it
				c.cfg.Log.ErrorContext(ctx, "the sources could not be reviewed", "err", err)
			}
			leases, more, err := c.cfg.Store.ClaimDue(ctx, c.wants(n))
			c.count(func(n *Counts) { n.Claimed += int64(len(leases)) })
			return leases, more, err
		},
		Do:   func(ctx context.Context, l store.Lease) { c.fetch(ctx, l, false) },
		Size: c.cfg.Settings.Concurrency, Tick: c.cfg.Settings.Tick, Log: c.cfg.Log,
	}
}

func (c *Collector) wants(n int) store.Claim {
	return store.Claim{
		Owner: c.cfg.Name, For: c.lease(), Types: c.types, Max: n,
		Skew: schedule.Skew(c.cfg.Settings.Tick), Probe: c.cfg.Settings.Probe > 0,
		HostOf: c.hostOf, PerHost: c.cfg.Settings.PerHost,
	}
}

// lease returns a duration longer than any fetch and its write, because leases are not renewed.
func (c *Collector) lease() time.Duration { return c.cfg.FetchTimeout + time.Minute }

func (c *Collector) clean(ctx context.Context) {
	now := c.cfg.Store.Now()
	last := c.cleaned.Load()
	if now.Sub(time.UnixMilli(last)).Abs() < time.Hour || !c.cleaned.CompareAndSwap(last, now.UnixMilli()) {
		return
	}
	cleaned, err := c.cfg.Store.Clean(ctx, now.Add(-c.cfg.KeepItems))
	if err != nil && ctx.Err() == nil {
		c.cfg.Log.ErrorContext(ctx, "cleaning failed", "err", err)
	}
	if cleaned.Items > 0 {
		c.cfg.Log.InfoContext(ctx, "cleaned", "items", cleaned.Items, "logs", cleaned.Logs)
	}
}

// Counts count the events in this collector since it was created.
type Counts struct {
	InFlight    int64 `json:"in_flight"`    // fetches running now
	Claimed     int64 `json:"claimed"`      // leases taken
	Succeeded   int64 `json:"succeeded"`    // fetches stored as a success
	NotModified int64 `json:"not_modified"` // of these, with unchanged content
	Failed      int64 `json:"failed"`       // fetches stored as a failure
	Returned    int64 `json:"returned"`     // interrupted fetches, whose leases were returned
	Lost        int64 `json:"lost"`         // fetches that outlived their lease
	Unstored    int64 `json:"unstored"`     // fetches that the database could not store
	New         int64 `json:"new"`          // new items
	Updated     int64 `json:"updated"`      // new versions of items
}

// Counts returns the counts so far.
func (c *Collector) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

func (c *Collector) count(fn func(n *Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.counts)
}

// review warns about sources without a fetcher, and reschedules sources whose interval has changed.
func (c *Collector) review(ctx context.Context, _ string) (int, error) {
	states, err := c.cfg.Store.FetchStates(ctx)
	var changed []store.FetchState
	for _, s := range states {
		if c.cfg.Fetchers[s.Type] == nil {
			c.warnOnce(ctx, "no fetcher for a source type, so its sources are parked", "type", s.Type)
		}
		every, err := c.cfg.Settings.Intervals.Source(s.Type, s.Config)
		if err != nil {
			c.warnOnce(ctx, "the interval of a source is invalid, so its type's interval applies", "source", s.ID, "err", err)
		}
		if !s.LastFetchedAt.IsZero() && s.Interval != every {
			s.Interval = every
			changed = append(changed, s)
		}
	}
	if err != nil || len(changed) == 0 {
		return len(states), err
	}
	return len(states), c.cfg.Store.Write(ctx, func(tx *store.Tx) (err error) {
		for _, s := range changed {
			err = errors.Join(err, tx.SetInterval(ctx, s.ID, s.Interval))
		}
		return err
	})
}

func (c *Collector) warnOnce(ctx context.Context, words string, args ...any) {
	if _, told := c.told.LoadOrStore(fmt.Sprint(words, args), true); !told {
		c.cfg.Log.WarnContext(ctx, words, args...)
	}
}

// Resume activates a paused source. It is due immediately.
func (c *Collector) Resume(ctx context.Context, id int64) error {
	if err := c.cfg.Store.ResumeSource(ctx, id); err != nil {
		return err
	}
	c.Tell(ctx, id)
	return nil
}

// Tell must be called after a committed change of sources. The next tick reviews them. If Tell fails,
// the change has succeeded: the collectors notice it a tick later.
func (c *Collector) Tell(ctx context.Context, ids ...int64) {
	if err := c.cfg.Tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, SourcesTag)); err != nil {
		c.cfg.Log.WarnContext(ctx, "other processes do not have a change of sources yet", "sources", ids, "err", err)
	}
}

// Check returns what is wrong with a source.
func (c *Collector) Check(s store.Source) error {
	return fetchers.Check(c.cfg.Fetchers, fetchers.Source{Type: s.Type, Config: s.Config})
}

func (c *Collector) hostOf(s store.Source) string {
	f := c.cfg.Fetchers[s.Type]
	if f == nil {
		return ""
	}
	addr, err := f.Address(fetchers.Source{Type: s.Type, Config: s.Config})
	if u, e := url.Parse(addr); err == nil && e == nil {
		return strings.ToLower(u.Host)
	}
	return ""
}
