package cache

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// TiersConfig configures the tiers of a process. Its zero value is one local tier of 64 MiB with
// the default policy.
type TiersConfig struct {
	// Local is the tier in the process. Close closes it, so it belongs to one Tiers. If nil, it is
	// local.New of 64 MiB.
	Local tier.Local

	// Remote is the tier that processes share. It stays open when the Tiers close. If nil, there is
	// none.
	Remote tier.Remote

	// Log carries invalidations to the other processes, and theirs to this one. Several Tiers may share
	// it; the last Close closes it. If nil, invalidations stay in this process. With a remote tier, New then warns once unless the policy has a LocalTTL.
	Log invalidate.Log

	// InvalidateWait limits how long Set, Delete, Invalidate, Expire and the like wait for the log
	// and for the removal of cells, counted from the call. Then they return an
	// *invalidate.PendingError, and the process retries the invalidation. A call with more than 8,192
	// scopes goes in parts, and the time starts again after each part that is done. If one call to the
	// log takes over 100 ms, set it to three times that. If zero, it is 250 ms.
	InvalidateWait time.Duration

	// Policies overrides policies by tenant, namespace or both. SetPolicies replaces it. If nil,
	// nothing is overridden.
	Policies policy.Table

	// Codecs are read in addition to those of codec.Builtin. With them a fleet can change codecs
	// without emptying the remote tier.
	Codecs []codec.Codec

	// MaxLoads limits the loads that run at a time, refreshes included. A load that waits longer
	// than its LoadTimeout for its turn fails with ErrOverloaded. A load holds its turn until its
	// loader returns, also if all its callers have left. A load that is nested in another runs in the
	// outer load's turn. If zero, 512 loads run at a time.
	MaxLoads int

	// MaxRefreshes limits the background refreshes that run at a time. The keys that one LoadMany
	// refreshes count as one. Beyond the limit, a stale value is served and no refresh starts.
	// The policy has a limit for one namespace. If zero, 32 refreshes run at a time.
	MaxRefreshes int

	// MaxFlights limits the keys that one cache fetches or loads at a time. Beyond it, reads
	// that miss fail with ErrOverloaded, even if an old value could be served. A GetMany that
	// misses more keys fetches and loads half of MaxFlights at a time. If zero, it is 65,536.
	MaxFlights int

	// ClaimTTL is how long other processes wait for a loader that has died. A live loader renews
	// its claim. All processes that share a remote tier should use the same value; otherwise
	// several may replace a loader that died. The remote tier counts the time. If its server's clock
	// was set back, a claim may never expire, and waiting processes cannot tell it from one that is
	// renewed. They replace it after the policy's LoadTimeout, if a caller waits that long. If all
	// callers have shorter deadlines, Delete of the key removes it. If zero, ClaimTTL is 3 s.
	ClaimTTL time.Duration

	// Secret authenticates the values in the remote tier. With it, this process serves a value only
	// if a process with the same secret stored it under this key. Any other value is a counted miss.
	// It has 16 bytes or more, which should be random. All processes that share a remote tier need
	// it. If nil, the default, a cell has only a checksum against damage. SECURITY.md says what a
	// writer in the remote tier can do with and without it.
	Secret []byte

	// PreviousSecret is a second secret whose values are accepted, for a rotation. To rotate without
	// misses, roll out three times: the new secret here; then the new one as Secret and the old one
	// here; then the new one alone.
	PreviousSecret []byte

	// MaxAudits limits the audits that begin in a second, for all namespaces together, and the
	// loads of audits that run at a time. The policy's Audit chooses the hits. A hit beyond the
	// limit is not audited and counts as skipped. If zero, it is 10.
	MaxAudits int

	// OnStale gets every hit that an audit found stale: the value differed from the source, and no
	// invalidation covered it. It is called after the key was deleted, in the audit's goroutine, by
	// up to MaxAudits goroutines at a time. It may use the caches. The first panic of a hook is
	// logged. Tiers.StaleHits returns the last hits even if OnStale is nil.
	OnStale func(StaleHit)

	// MaxTenants limits the pairs of namespace and tenant with their own counters. The others
	// are counted together as "other". If zero, it is 200: each has about ten series of an instrument, of
	// which an OpenTelemetry SDK keeps 2,000 unless it is told otherwise.
	MaxTenants int

	// OnStored gets every entry before a read can find it in the local tier. OnRemoved gets it
	// when no read can find it any more. Each gets an entry once. If an entry replaces another,
	// OnStored of the new one may come before OnRemoved of the old one. Close reports nothing.
	// The methods of package cache/index have these types.
	//
	// Both run inside cache calls, several at a time; OnRemoved of an expired entry may run on a
	// goroutine of the tier. They must be quick and must not call the cache. The first panic is
	// logged. With OnStored, values keep the text of their tags, which counts towards their size. Both
	// may be nil.
	OnStored  func(e Entry)
	OnRemoved func(e Entry, reason tier.EvictReason)

	// Logger gets state changes, never a value. If nil, it is slog.Default.
	Logger *slog.Logger

	// MeterProvider and TracerProvider make the instruments. If nil, they are the global ones of
	// OpenTelemetry, which do nothing until they are set.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
}

// engine returns the configuration of the engine, which calls the hooks with its own types.
func (cfg *TiersConfig) engine() resident.Config {
	c := resident.Config{
		Local: cfg.Local, Remote: cfg.Remote, Log: cfg.Log, InvalidateWait: cfg.InvalidateWait, Policies: cfg.Policies,
		Codecs: cfg.Codecs, MaxLoads: cfg.MaxLoads, MaxRefreshes: cfg.MaxRefreshes, MaxFlights: cfg.MaxFlights,
		ClaimTTL: cfg.ClaimTTL, Secret: cfg.Secret, PreviousSecret: cfg.PreviousSecret, MaxAudits: cfg.MaxAudits, MaxTenants: cfg.MaxTenants, Logger: cfg.Logger,
		MeterProvider: cfg.MeterProvider, TracerProvider: cfg.TracerProvider, Faults: faults{},
	}
	if cfg.OnStored != nil {
		c.OnStored = func(e *resident.Entry) { cfg.OnStored(e) }
	}
	if cfg.OnRemoved != nil {
		c.OnRemoved = func(e *resident.Entry, reason tier.EvictReason) { cfg.OnRemoved(e, reason) }
	}
	return c
}
