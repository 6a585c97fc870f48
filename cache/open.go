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
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/unwrap"
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
	cfg.MaxAudits = cmp.Or(cfg.MaxAudits, 10)
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
	t.audits.open(cfg.MaxAudits)
	t.warnOfHidden()
	if t.seen, err = newTelemetry(t); err != nil {
		return nil, fmt.Errorf("cache: open: %w", err)
	}
	t.seen.tracing()
	if t.local == nil {
		t.local = local.New(local.Config{})
	}
	if cfg.Remote != nil {
		t.remote = remote.New(remote.Config{Tier: cfg.Remote, Now: t.now, Logger: t.log, Watcher: t.seen, Work: &t.work})
		t.all.far = t.remote
	}
	t.follow()
	if err := t.seen.observe(); err != nil {
		return nil, fmt.Errorf("cache: open: %w", errors.Join(err, t.abandon()))
	}
	if n, ok := unwrap.As[tier.EvictNotifier](t.local); ok {
		n.OnEvict(t.evicted)
	}
	if x, ok := unwrap.As[tier.Expirer](t.local); ok {
		x.ExpireBy(t.now, endOf)
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
	for name, n := range map[string]int{
		"MaxLoads": cfg.MaxLoads, "MaxRefreshes": cfg.MaxRefreshes, "MaxFlights": cfg.MaxFlights, "MaxTenants": cfg.MaxTenants,
		"MaxAudits": cfg.MaxAudits,
	} {
		if n < 0 {
			fault(name, fmt.Errorf("%d is negative: set it to 1 or more, or leave it 0 for the default", n))
		}
	}
	if d := cfg.ClaimTTL; d < time.Millisecond {
		fault("ClaimTTL", fmt.Errorf("%v is negative or rounds to zero: set it to 1ms or more, or leave it 0 for 3s", d))
	}
	for name, part := range map[string]any{"Local": cfg.Local, "Remote": cfg.Remote, "Log": cfg.Log} {
		fault(name, faultOfPart(part))
	}
	if cfg.Log != nil && !unwrap.IsNil(cfg.Log) {
		fault("Log", follow.Validate(cfg.Log))
	}
	if len(errs) == 0 { // no part is a nil pointer
		fault(cfg.faultOfCells())
	}
	if _, ok := unwrap.As[tier.EvictNotifier](cfg.Local); cfg.Local != nil && !ok && cfg.OnRemoved != nil && len(errs) == 0 {
		fault("OnRemoved", fmt.Errorf("the local tier %T does not report what leaves it: give it the method OnEvict of tier.EvictNotifier, "+
			"or Unwrap() tier.Local if it wraps a tier that has one, or leave OnRemoved nil", cfg.Local))
	}
	fault("Policies", cfg.Policies.Validate(policy.Default()))
	codecs, err := codec.NewSet(append(codec.Builtin(), cfg.Codecs...)...)
	fault("Codecs", err)
	return codecs, errors.Join(errs...)
}

// SetPolicies replaces the table of overrides for reads that start afterwards. Stored values
// keep their lifetimes. SetPolicies refuses a faulty table, names all faults, and keeps the old
// table. A namespace that no cache has is no fault, because another program may have it. It is
// logged once; see [Tiers.UnusedPolicies].
func (t *Tiers) SetPolicies(table policy.Table) error {
	if err := t.setPolicies(table); err != nil {
		return fmt.Errorf("cache: set policies: %w", err)
	}
	t.warnOfUnused(table)
	return nil
}

func (t *Tiers) setPolicies(table policy.Table) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := table.Validate(policy.Default())
	for _, b := range t.used.bases {
		if e := table.Validate(b.Policy); e != nil {
			err = errors.Join(err, fmt.Errorf("with the policy of namespace %q: %w", b.namespace, e))
		}
	}
	if err == nil {
		t.policies.Store(&table)
	}
	return err
}

// Close closes the Tiers. Later calls fail with [ErrClosed]. Until ctx ends, Close waits for
// loads and sends the invalidations that wait for the log. Then it cancels the loads and reports
// lost invalidations as an [*invalidate.PendingError]. Audits end at once. A ctx without a deadline ends after the
// log's bound, or after two seconds without a log. Close closes the log and the local tier last.
// The remote tier stays open. A second Close does nothing.
func (t *Tiers) Close(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(time.Duration(t.bound), 2*time.Second))
		defer cancel()
	}
	t.audits.stop()
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
