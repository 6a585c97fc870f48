package resident

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Config is cache.TiersConfig, which explains the fields, with the engine's types.
type Config struct {
	Local          tier.Local
	Remote         tier.Remote
	Log            invalidate.Log
	InvalidateWait time.Duration
	Policies       policy.Table
	Codecs         []codec.Codec
	MaxLoads       int
	MaxRefreshes   int
	MaxFlights     int
	ClaimTTL       time.Duration
	Secret         []byte
	PreviousSecret []byte
	MaxAudits      int
	MaxTenants     int
	OnStored       func(*Entry)
	OnRemoved      func(*Entry, tier.EvictReason)
	Logger         *slog.Logger
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
	Faults         fault.Faults
}

// Core holds what the caches of one process share: the tiers, the limits and the instruments.
// All methods may be called concurrently.
type Core struct {
	Base     time.Time    // its monotonic reading is the origin of all entry times
	Seed     maphash.Seed // of the hashes of typed keys
	Notable  atomic.Int64 // see measure.Sampled
	Config   Config
	Faults   fault.Faults // of cfg
	Local    tier.Local
	remote   *remote.Tier // nil: none
	codecs   codec.Set
	seal     *remote.Seal // nil: without a secret
	Log      *slog.Logger
	Fences   *fence.Fences
	Lease    *follow.Lease
	Follower *follow.Follower // nil without a log
	Bound    int64            // of the log
	// CellNames returns the names of cells that the log can store when it appends; nil: it cannot.
	CellNames func(keys []string) []string
	policies  atomic.Pointer[policy.Table]
	Loads     *semaphore.Weighted
	Refresh   *semaphore.Weighted
	Work      calls.Work
	Fills     FillTiers
	puts      [64]sync.Mutex // by local hash; see Job.Put
	Seen      *measure.Telemetry
	All       *measure.Counters // for counts without a namespace
	panicked  sync.Once         // the first panic of a hook was logged
	stuck     sync.Once         // a hook that does not return was logged
	noLog     sync.Once         // see warnOfNoLog
	epoch     atomic.Pointer[epochSeen]

	Listeners Listeners
	// Sampled gets the hits of namespaces whose policy has an Audit, and the chance with which one is
	// to be audited. It is set before the first cache opens. The job is a copy, so that a caller's job stays on its
	// stack.
	Sampled func(ctx context.Context, j Job, it *Entry, src Source, chance float64)
	Closing context.Context // ends when Close begins
	closing context.CancelFunc

	mu     sync.Mutex // protects the rest
	used   namespaces
	unused map[string]struct{} // namespaces of policies that no cache has, already logged
	missed map[string]struct{} // namespaces of rows of the log that miss their cache, already logged
	counts map[key.Space]*measure.Counters
}

// Now returns the nanoseconds since Open, on the monotonic clock. A local hit spends 25 to 35 ns
// here: half of its time if its key is hot.
//
// A clock of our own, which interpolates the kernel's by the processor's counter for a
// millisecond, would save most of that. We did not make one: the lease depends on the clock, so it would need a proof
// for several kinds of processor and hypervisor, and assembly for each. A word that a goroutine
// refreshes would be wrong: after a SIGSTOP, readers may run before that goroutine.
func (t *Core) Now() int64 { return int64(time.Since(t.Base)) }

// Or returns now. If it is zero, Or reads the clock.
func (t *Core) Or(now int64) int64 {
	if now != 0 {
		return now
	}
	return t.Now()
}

// PutsOf returns the lock under which an address changes.
func (t *Core) PutsOf(at uint64) *sync.Mutex { return &t.puts[at%uint64(len(t.puts))] }

// defaults returns the policy of calls without a namespace.
func (t *Core) defaults() policy.Policy { return t.policies.Load().For(policy.Default(), "", "") }
