package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

// TiersConfig says what a process's caches are made of. Its zero value is one
// local tier of 64 MiB with the default policy.
type TiersConfig struct {
	// Local is the in-process tier. Nil: local.New of 64 MiB. Close closes it.
	Local tier.Local

	// Remote is the tier shared with other processes. Nil: none. It stays open
	// when the Tiers close.
	Remote tier.Remote

	// Log carries invalidations to the other processes, and theirs to this one.
	// Nil: they stay in this process. Close closes it if it has a Close method,
	// so a log of that kind belongs to one Tiers.
	Log invalidate.Log

	// Policies overrides policies by tenant, namespace or both, until
	// SetPolicies swaps it. Nil: nothing is overridden.
	Policies policy.Table

	// Registry names every entry of the local tier and its tags, as entities
	// spelled by invalidate.TagEntity; tags from Tiers without a registry are
	// spelled by invalidate.HashEntity. An entry that another process
	// invalidated may stay in it until the entry is replaced or evicted. A
	// value for which it has no room is returned and not stored. Its memory is
	// part of the local tier's bytes. It belongs to one Tiers. Nil: none.
	Registry *invalidate.Registry

	// Codecs are decoded beside those of codec.Builtin, so that a fleet can
	// change codecs without emptying the remote tier.
	Codecs []codec.Codec

	// MaxLoads bounds the loads that run at a time, refreshes included. A load
	// that has to wait for its turn longer than its LoadTimeout fails with
	// ErrOverloaded. A load nested in another runs in its turn. 0: 512.
	MaxLoads int

	// MaxRefreshes bounds the background refreshes at a time; beyond it a
	// stale value is served without starting one. 0: 32.
	MaxRefreshes int

	// MaxFlights bounds the keys being fetched or loaded at a time, per cache;
	// beyond it reads that miss fail with ErrOverloaded. 0: 65,536.
	MaxFlights int

	// ClaimTTL is how long other processes wait for a loader that has died. A
	// living one renews its claim. Set it alike in all processes that share a
	// remote tier, or several may replace a loader that dies. 0: 3 s.
	ClaimTTL time.Duration

	// MaxTenants bounds the tenants that have counters of their own; the others
	// are counted together as "other". 0: 1,000.
	MaxTenants int

	// OnEvict is called once for every entry that leaves the local tier, with
	// its full key. It runs inside cache calls: it must be quick and must not
	// call the cache. Its first panic is logged. Nil: nothing is called.
	OnEvict func(key string, reason tier.EvictReason)

	// Logger gets state changes: never a value. Nil: slog.Default.
	Logger *slog.Logger

	// MeterProvider and TracerProvider are where the instruments are made.
	// Nil: the global ones of OpenTelemetry, which do nothing until set.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
}

// Tiers is what the caches of one process share: the tiers, the limits and the
// instruments. Make one with [Open]. All methods may be called concurrently.
type Tiers struct {
	base     time.Time // its monotonic reading is the origin of all item times
	seed     maphash.Seed
	cfg      TiersConfig
	local    tier.Local
	remote   *remote.Tier // nil: there is none
	codecs   codec.Set
	log      *slog.Logger
	fences   *invalidate.Fences
	lease    *invalidate.Lease
	follower *invalidate.Follower // nil without a log
	bound    int64                // of the log
	policies atomic.Pointer[policy.Table]
	loads    *semaphore.Weighted
	refresh  *semaphore.Weighted
	work     scope.Work
	puts     [64]sync.Mutex // by local hash; see job.put
	seen     *telemetry
	all      *counters // what has no namespace
	panicked sync.Once // OnEvict did, which was logged

	mu     sync.Mutex // protects the rest
	bases  []namedBase
	counts map[key.Space]*counters
}

// namedBase is the policy of a cache before the table of overrides.
type namedBase struct {
	namespace string
	policy.Policy
}

// Open returns tiers that run by cfg. It refuses a configuration with faults
// and names all of them. When it fails, what cfg holds stays open.
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
		counts:  make(map[key.Space]*counters), all: &counters{},
	}
	t.policies.Store(&cfg.Policies)
	if t.seen, err = newTelemetry(t); err != nil {
		return nil, fmt.Errorf("cache: open: %w", err)
	}
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

// abandon ends what Open began.
func (t *Tiers) abandon() (err error) {
	if t.follower != nil {
		err = t.follower.Close(context.Background()) // nothing waits to be sent
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
	if _, ok := cfg.Local.(tier.EvictNotifier); cfg.Local != nil && !ok && cfg.Registry != nil {
		fault("Registry", fmt.Errorf("local tier %T does not tell of evictions", cfg.Local))
	}
	fault("Policies", cfg.Policies.Validate(policy.Default()))
	codecs, err := codec.NewSet(append(codec.Builtin(), cfg.Codecs...)...)
	fault("Codecs", err)
	return codecs, errors.Join(errs...)
}

// SetPolicies swaps the table of overrides for reads that start afterwards. What
// is stored keeps its lifetime. A table with faults is refused, all of them
// named, and the old one stays.
func (t *Tiers) SetPolicies(table policy.Table) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := table.Validate(policy.Default())
	for _, b := range t.bases {
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

// Close ends the tiers. Calls that come later fail with [ErrClosed]. Until ctx
// ends, Close waits for loads, and sends invalidations that wait for the log;
// then it cancels the loads, and reports what is lost by an
// [*invalidate.PendingError]. A ctx without a deadline ends after the log's bound,
// or after two seconds without a log. At last the log and the local tier are
// closed. The remote tier stays open. A second Close does nothing.
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
	if err = errors.Join(err, lost, t.seen.close(), t.local.Close()); err != nil {
		return fmt.Errorf("cache: close: %w", err)
	}
	return nil
}

// now returns nanoseconds since the tiers were opened, on the monotonic clock.
func (t *Tiers) now() int64 { return int64(time.Since(t.base)) }

// named is any item, whatever its types.
type named interface {
	FullKey() string
	numbers() *counters
	registered() (key string, token invalidate.Token)
}

func (it *item[K, V]) numbers() *counters { return it.view.counts }

func (it *item[K, V]) registered() (string, invalidate.Token) { return it.text, it.token }

func (t *Tiers) evicted(e tier.Entry, _ int64, reason tier.EvictReason) {
	n, ok := e.(named)
	if !ok {
		return
	}
	if reason == tier.Evicted || reason == tier.Rejected {
		n.numbers().inc(evictions)
	}
	t.unregister(n)
	if t.cfg.OnEvict == nil {
		return
	}
	// A panic must not reach the call that happened to make room.
	defer func() {
		if recover() != nil { // what it panicked with may be a key
			t.panicked.Do(func() {
				t.log.Error("cache: OnEvict panicked; further panics of it are not logged", "stack", string(debug.Stack()))
			})
		}
	}()
	t.cfg.OnEvict(n.FullKey(), reason)
}
