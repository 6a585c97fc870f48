package cache

import (
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
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

	// InvalidateWait is how long Set, Delete, DeleteAll and Invalidate wait for the
	// log and the removal of cells, counted from the call. Then they return an
	// *invalidate.PendingError, and the invalidation goes on being tried. Where one
	// call to the log takes over 100 ms, set it to three times that. Zero: 250 ms.
	// Negative: 250 ms too, but for one try: while the log is known to be out of
	// reach they return at once, and otherwise as soon as their try has failed.
	InvalidateWait time.Duration

	// Policies overrides policies by tenant, namespace or both, until
	// SetPolicies swaps it. Nil: nothing is overridden.
	Policies policy.Table

	// Codecs are decoded beside those of codec.Builtin, so that a fleet can
	// change codecs without emptying the remote tier.
	Codecs []codec.Codec

	// MaxLoads bounds the loads that run at a time, refreshes included. A load
	// that has to wait for its turn longer than its LoadTimeout fails with
	// ErrOverloaded. A load nested in another runs in its turn. 0: 512.
	MaxLoads int

	// MaxRefreshes bounds the background refreshes at a time; beyond it a
	// stale value is served without starting one. The policy has a bound for
	// one namespace. 0: 32.
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

	// OnStored is called with every entry before a read can find it in the
	// local tier, and OnRemoved once no read can find it any more. Each entry
	// comes to each of them once. When an entry replaces another, OnStored of
	// the newer one may come before OnRemoved of the older one. Close reports
	// nothing. The methods of package cache/index fit here.
	//
	// Both run inside cache calls, several at a time: they must be quick and
	// must not call the cache. The first panic is logged. OnRemoved needs a
	// local tier that is a tier.EvictNotifier. With OnStored, values keep the
	// text of their tags, which counts as their bytes. Nil: nothing is called.
	OnStored  func(e Entry)
	OnRemoved func(e Entry, reason tier.EvictReason)

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
	notable  atomic.Int64 // see sampled
	cfg      TiersConfig
	local    tier.Local
	remote   *remote.Tier // nil: there is none
	codecs   codec.Set
	log      *slog.Logger
	fences   *follow.Fences
	lease    *follow.Lease
	follower *follow.Follower // nil without a log
	bound    int64            // of the log
	policies atomic.Pointer[policy.Table]
	loads    *semaphore.Weighted
	refresh  *semaphore.Weighted
	work     scope.Work
	puts     [64]sync.Mutex // by local hash; see job.put
	seen     *telemetry
	all      *counters // what has no namespace
	panicked sync.Once // a hook did, which was logged

	listeners listeners
	known     tenants // of the handles there have been
	strangers tenants // of invalidations, which were logged

	mu        sync.Mutex // protects the rest
	used      namespaces
	counts    map[key.Space]*counters
	refreshes map[string]*atomic.Int64 // by namespace
}

// check says why the tiers cannot be used at all.
func (t *Tiers) check() error {
	switch {
	case t == nil:
		return wrongUse(errors.New("Tiers is nil; make it with Open"))
	case t.local == nil:
		return wrongUse(errors.New("the zero Tiers; make it with Open"))
	case t.work.Closed():
		return ErrClosed
	}
	return nil
}

// now returns nanoseconds since the tiers were opened, on the monotonic clock.
func (t *Tiers) now() int64 { return int64(time.Since(t.base)) }
