package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

// Open returns Tiers for cfg. It refuses a faulty configuration and names all faults. When it
// fails, the parts of cfg stay open.
func Open(cfg TiersConfig) (*Tiers, error) {
	cfg.MaxLoads = cmp.Or(cfg.MaxLoads, 512)
	cfg.MaxRefreshes = cmp.Or(cfg.MaxRefreshes, 32)
	cfg.MaxFlights = cmp.Or(cfg.MaxFlights, 1<<16)
	cfg.ClaimTTL = cmp.Or(cfg.ClaimTTL, 3*time.Second)
	cfg.MaxTenants = cmp.Or(cfg.MaxTenants, 1000)
	codecs, err := cfg.validate()
	if err != nil {
		return nil, fmt.Errorf("cache: open: %w", err)
	}
	t := &Tiers{
		base: time.Now(), seed: maphash.MakeSeed(), cfg: cfg, local: cfg.Local, codecs: codecs,
		log:     cmp.Or(cfg.Logger, slog.Default()),
		loads:   semaphore.NewWeighted(int64(cfg.MaxLoads)),
		refresh: semaphore.NewWeighted(int64(cfg.MaxRefreshes)),
		counts:  make(map[key.Space]*counters), refreshes: make(map[string]*atomic.Int64), all: &counters{},
	}
	t.policies.Store(&cfg.Policies)
	if t.seen, err = newTelemetry(t); err != nil {
		return nil, fmt.Errorf("cache: open: %w", err)
	}
	t.seen.tracing()
	if t.local == nil {
		t.local = local.New(local.Config{})
	}
	if cfg.Remote != nil {
		t.remote = remote.New(remote.Config{Tier: cfg.Remote, Now: t.now, Logger: t.log, Watcher: t.seen, Work: &t.work})
	}
	t.follow()
	if err := t.seen.observe(); err != nil {
		return nil, fmt.Errorf("cache: open: %w", errors.Join(err, t.abandon()))
	}
	if n, ok := t.local.(tier.EvictNotifier); ok {
		n.OnEvict(t.evicted)
	}
	return t, nil
}

// abandon undoes what Open has begun.
func (t *Tiers) abandon() (err error) {
	if t.follower != nil {
		err = t.follower.Close(context.Background()) // no invalidation waits to be sent
	}
	if t.cfg.Local == nil {
		err = errors.Join(err, t.local.Close())
	}
	return err
}

func (cfg *TiersConfig) validate() (codec.Set, error) {
	var errs []error
	fault := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("field %s: %w", field, err))
		}
	}
	for name, n := range map[string]int64{
		"MaxLoads": int64(cfg.MaxLoads), "MaxRefreshes": int64(cfg.MaxRefreshes), "MaxFlights": int64(cfg.MaxFlights),
		"MaxTenants": int64(cfg.MaxTenants), "ClaimTTL": int64(cfg.ClaimTTL / time.Millisecond),
	} {
		if n <= 0 {
			fault(name, errors.New("is negative or rounds to zero"))
		}
	}
	for name, x := range map[string]any{"Local": cfg.Local, "Remote": cfg.Remote, "Log": cfg.Log} {
		if v, ok := x.(tier.Validator); ok {
			fault(name, v.Validate())
		}
	}
	if _, ok := cfg.Local.(tier.EvictNotifier); cfg.Local != nil && !ok && cfg.OnRemoved != nil {
		fault("OnRemoved", fmt.Errorf("the local tier %T does not report what leaves it: give it the method OnEvict of tier.EvictNotifier, or leave OnRemoved nil", cfg.Local))
	}
	fault("Policies", cfg.Policies.Validate(policy.Default()))
	codecs, err := codec.NewSet(append(codec.Builtin(), cfg.Codecs...)...)
	fault("Codecs", err)
	return codecs, errors.Join(errs...)
}

// SetPolicies replaces the table of overrides for reads that start afterwards. Stored values
// keep their lifetimes. SetPolicies refuses a faulty table, names all faults, and keeps the old
// table.
func (t *Tiers) SetPolicies(table policy.Table) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := table.Validate(policy.Default())
	for _, b := range t.used.bases {
		if e := table.Validate(b.Policy); e != nil {
			err = errors.Join(err, fmt.Errorf("with the policy of namespace %q: %w", b.namespace, e))
		}
	}
	if err != nil {
		return fmt.Errorf("cache: set policies: %w", err)
	}
	t.policies.Store(&table)
	return nil
}

// Close closes the Tiers. Later calls fail with [ErrClosed]. Until ctx ends, Close waits for
// loads and sends the invalidations that wait for the log. Then it cancels the loads and reports
// lost invalidations as an [*invalidate.PendingError]. A ctx without a deadline ends after the
// log's bound, or after two seconds without a log. Close closes the log and the local tier last.
// The remote tier stays open. A second Close does nothing.
func (t *Tiers) Close(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(time.Duration(t.bound), 2*time.Second))
		defer cancel()
	}
	var lost error
	var unfollowed sync.WaitGroup
	first, err := t.work.Close(ctx, func() {
		unfollowed.Go(func() { lost = t.unfollow(ctx) })
	})
	if !first {
		return nil
	}
	unfollowed.Wait()
	t.listeners.close()
	if err = errors.Join(err, lost, t.seen.close(), t.local.Close()); err != nil {
		return fmt.Errorf("cache: close: %w", err)
	}
	return nil
}
