package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/audits"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// Tiers holds what the caches of one process share: the tiers, the limits and the instruments.
// Make one with [Open]. All methods may be called concurrently.
type Tiers struct {
	core   *resident.Core
	audits *audits.Auditor
}

// Open returns Tiers for cfg. It refuses a faulty configuration and names all faults. When it
// fails, the parts of cfg stay open.
func Open(cfg TiersConfig) (*Tiers, error) {
	core, err := resident.New(cfg.engine())
	if err != nil {
		return nil, err
	}
	return &Tiers{core, cfg.auditor(core)}, nil
}

// engine returns the engine of the Tiers, or why there is none.
func (t *Tiers) engine() (*resident.Core, error) {
	switch {
	case t == nil:
		return nil, fault.WrongUse(errors.New("Tiers is nil; make it with Open"))
	case t.core == nil:
		return nil, fault.WrongUse(errors.New("the zero Tiers; make it with Open"))
	}
	return t.core, nil
}

// do runs an operation of the engine, and wraps its error.
func (t *Tiers) do(op, key string, run func(*resident.Core) error) error {
	core, err := t.engine()
	if err == nil && core.Work.Closed() {
		err = fault.ErrClosed
	}
	if err != nil {
		return &Error{Op: op, Key: "-", Err: err}
	}
	if err := run(core); err != nil {
		return &Error{Op: op, Key: key, Err: err}
	}
	return nil
}

// SetPolicies replaces the table of overrides for reads that start afterwards. Stored values
// keep their lifetimes. SetPolicies refuses a faulty table, names all faults, and keeps the old
// table. A namespace that no cache has is not a fault, because another program may have it. It is
// logged once; see [Tiers.UnusedPolicies].
func (t *Tiers) SetPolicies(table policy.Table) error { return t.core.SetPolicies(table) }

// SpacePolicy is the policy in force for a namespace, or for one tenant's share of it.
type SpacePolicy struct {
	Namespace string        // of the caches
	Tenant    string        // empty means all tenants without their own overrides
	Policy    policy.Policy // with the overrides of the table applied
}

// Policies returns the policies in force of the caches on these Tiers, sorted by namespace and
// tenant. Each namespace has one policy for all tenants. It also has one for each tenant that
// the table of overrides names, if that policy differs. A namespace whose caches have different
// policies appears several times. The slice belongs to the caller.
func (t *Tiers) Policies() []SpacePolicy {
	var all []SpacePolicy
	for _, p := range t.core.Policies() {
		all = append(all, SpacePolicy(p))
	}
	return all
}

// UnusedPolicies returns the namespaces that the table of overrides names and no cache on these
// Tiers has, sorted. Their overrides do nothing. A namespace is Config.Namespace, with its
// version: "users" does not reach "users:v1". The slice belongs to the caller; nil means none.
func (t *Tiers) UnusedPolicies() []string { return t.core.UnusedPolicies() }

// Ready waits until this process knows what the log knows. From then on it serves from its tiers
// and learns of invalidations by other processes. If ctx ends first, Ready returns the reason.
// Reads need not wait for it: until then they go to the source. Without a log, Ready returns
// immediately.
func (t *Tiers) Ready(ctx context.Context) error {
	return t.do("ready", "-", func(core *resident.Core) error { return core.Ready(ctx) })
}

// Settle waits until no process of the log can serve values that were invalidated before the
// call. This takes one bound of the log: the largest that a process uses. Settle covers
// every call that invalidates or expires, in this process and in others, and what was
// committed to a database; see package sqllog. Call Settle after the commit, not in the transaction.
//
// If an invalidation of this process is pending, Settle first waits until a retry succeeds. If ctx ends
// before that, Settle returns an [*invalidate.PendingError]. If ctx ends while the log is out of reach,
// the error wraps [ErrUnavailable]. Without a log, Settle returns immediately.
func (t *Tiers) Settle(ctx context.Context) error {
	return t.do("settle", "-", func(core *resident.Core) error { return core.Settle(ctx) })
}

// Invalidate invalidates everything that the scopes cover. When it returns nil, no later read in
// this process returns a value whose load began before. In another process that follows the same
// log, this holds after the log's bound; [Tiers.Settle] waits for that. Without a log, keys are removed from the remote tier for all processes, and prefixes and tags
// count only in this process.
//
// Invalidate refuses a scope that is not valid, and a call without any, before it does anything. If the log or the remote
// tier cannot be reached, it applies the scopes in this process and returns an error. With a log
// that error is an [*invalidate.PendingError], and the process retries in the background.
//
// Invalidate waits for the log until ctx ends or TiersConfig.InvalidateWait has passed. A
// PendingError does not tell when the other processes know. To wait for them, call Settle.
func (t *Tiers) Invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	return t.do("invalidate", nameOf(scopes), func(core *resident.Core) error {
		if len(scopes) == 0 {
			return errNoScope
		}
		return core.Invalidate(ctx, scopes...)
	})
}

// Expire makes everything that the scopes cover stale without removing it. A stale value is
// served for the policy's Stale and StaleIfError, counted from now, while a background load
// replaces it. If both are zero, the next read loads. (For a key's remote cell whose TTL is
// Forever, the default policy counts, because only [Cache.Expire] knows the namespace's.) If a
// value expires several times, the time counts from the last Expire, or from one that a read in
// this process has already noticed. If an invalidation covers the value too, the value is gone, in
// either order.
//
// When Expire returns nil, this holds for every later read in this process. In another process
// that follows the same log, it holds after the log's bound. A value that is built from a stale
// value is stale itself. Without a log, keys expire in the remote tier for all processes, and
// prefixes and tags only in this process.
//
// The errors are those of [Tiers.Invalidate]. An Expire that waits for the log may become an
// invalidation.
func (t *Tiers) Expire(ctx context.Context, scopes ...invalidate.Scope) error {
	return t.do("expire", nameOf(scopes), func(core *resident.Core) error {
		if len(scopes) == 0 {
			return errNoScope
		}
		return core.Expire(ctx, scopes...)
	})
}

// errNoScope is the error of a call that would invalidate nothing.
var errNoScope = fault.WrongUse(fmt.Errorf("%w: there is none, so the call would do nothing: name a key, tag or prefix, or do not call", invalidate.ErrScope))

func nameOf(scopes []invalidate.Scope) string {
	if len(scopes) == 1 {
		return scopes[0].String()
	}
	return fmt.Sprintf("%d scopes", len(scopes))
}

// OnInvalidate calls fn for every invalidation and every Expire that is applied in this process
// from now on: those of its own calls, and with a log also those of other processes. fn is
// called when no read in this process can serve what they cover any more. Events of other processes
// arrive in the log's order; keys and all other scopes are two separate orders. If records are
// missing, one event of everything replaces them. An event may arrive twice.
//
// One goroutine at a time calls fn and holds no lock, so fn may use the caches. While fn runs, up to 1,024
// events wait. If more wait, one event for everything replaces them. Missed is their number. A
// panic or a runtime.Goexit of fn is logged, and fn gets the next event.
//
// Stop, or Close of the Tiers, ends the calls. A call that is running may continue for a moment.
// Stop may be called from fn, and more than once. OnInvalidate panics if fn is nil. On closed
// Tiers it does nothing.
func (t *Tiers) OnInvalidate(fn func(invalidate.Event)) (stop func()) {
	if fn == nil {
		panic("cache: OnInvalidate of a nil function")
	}
	return t.core.Listeners.Add(fn)
}

// Close closes the Tiers. Later calls fail with [ErrClosed]. Until ctx ends, Close waits for loads
// and sends the invalidations that wait for the log. Then it cancels the loads and reports lost
// invalidations as an [*invalidate.PendingError]. Audits end immediately. A ctx without a deadline
// ends after the log's bound, or after two seconds without a log. If a call to the log
// or the remote tier ignores its context, Close fails a second later than that. Close closes the log and
// the local tier last. The remote tier stays open. A second Close does nothing.
func (t *Tiers) Close(ctx context.Context) error { return t.core.Close(ctx) }
