package cache

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/resident"
)

// Fill is the handle of a running load, from [Filling]. All its methods may be called on nil,
// concurrently, and after the load has ended; then they change nothing.
type Fill struct {
	load *resident.Fill
}

// in returns the engine's handle, which may be nil.
func (f *Fill) in() *resident.Fill {
	if f == nil {
		return nil
	}
	return f.load
}

// Filling returns the load that ctx belongs to. A loader calls it with its own context. Outside
// a loader it returns nil, whose methods do nothing. In a LoadMany, what the methods set applies
// to all keys of the call, and [Previous] has a value only if the call has one key.
func Filling(ctx context.Context) *Fill {
	f := under(ctx)
	if f == nil {
		return nil
	}
	return &Fill{f}
}

// under is resident.Of. It is not inlined: so Filling can be, and its result takes no allocation.
//
//go:noinline
func under(ctx context.Context) *resident.Fill { return resident.FillOf(ctx) }

// Tenant returns the tenant whose key is being loaded: that of the handle that read it, or
// [DefaultTenant]. A loader of a cache with several tenants needs it to ask for the right row.
// All keys of one LoadMany belong to one tenant. Outside a loader it returns "". It also returns
// the tenant after the load has ended.
func (f *Fill) Tenant() string { return f.in().Tenant() }

// Auditing reports whether the load runs for an audit, whose value is compared and not stored; see
// Audit of [policy.Policy]. Such a loader may ask the primary instead of a replica, or count the call
// separately. If it causes another load, that load is an ordinary one whose value is stored. There, and
// outside a loader, Auditing returns false.
func (f *Fill) Auditing() bool { return f.in().Auditing() }

// InBackground reports whether the load runs behind the call that began it, which has the cached value: it
// is a refresh of a stale value, a refresh ahead of the TTL's end, or an audit. Such a loader may ask a slower
// source, or with a lower priority. Other callers may join a refresh and wait for it. The load of
// [Cache.Refresh] is not in the background, and neither is a load that the loader causes, which waits for it.
func (f *Fill) InBackground() bool { return f.in().InBackground() }

// Lifetime says how long a loaded value lives, in place of the policy; see [Fill.SetLifetime]. A nil
// field changes nothing. Negative counts as zero. Stale, StaleIfError and Keep bind every process that
// reads the value. An absence is never served stale and not kept.
type Lifetime struct {
	// TTL is how long the value is fresh. It also replaces the policy's NegativeTTL if the load finds
	// none. The policy's jitter still applies. With less than 1 ms the value is never fresh. Then it is
	// stored only if Stale, StaleIfError or Keep is more than zero.
	TTL *time.Duration

	// Stale is how long after that the value is served while it is loaded again. With zero, no process
	// does so. If only one of Stale and StaleIfError is set, the policy of this process gives the other.
	Stale *time.Duration

	// StaleIfError is how long after Stale the value is served in place of a failed load.
	StaleIfError *time.Duration

	// Keep is how long the value is kept after its freshness, Stale and StaleIfError have ended. No
	// read gets the value then. The load that replaces it gets it as [Previous] and may return
	// [ErrNotModified], in this process or, through the remote tier, in another. The Lifetime that
	// this load sets is the value's new life. An invalidation covers a kept value like any other. A
	// remembered error replaces it. If never set, nothing is kept.
	Keep *time.Duration
}

// SetLifetime sets how long the value being loaded lives. If a loader calls it several times, each
// call replaces the fields that it sets.
func (f *Fill) SetLifetime(l Lifetime) { f.in().SetLifetime(resident.Lifespan(l)) }

// DependOnPrevious makes the value being loaded depend on everything that the value of
// [Previous] depends on. Use it in a loader that makes the new value from the old one and
// returns it. After [ErrNotModified] the value depends on it anyway.
func (f *Fill) DependOnPrevious() { f.in().DependOnPrevious() }

// NoStore keeps the value being loaded out of both tiers. The callers that wait for it get it.
func (f *Fill) NoStore() { f.in().NoStore() }

// Stores reports whether the value being loaded may be stored. It is true as long as NoStore was
// not called and every tag is valid.
func (f *Fill) Stores() bool { return f.in().Stores() }

// Depend adds tags to the value being loaded under ctx. The invalidation of one of them then covers
// the value. Outside a loader Depend does nothing. The tags belong to the tenant of the key being
// loaded. A tag that is empty, too long or not UTF-8 could never be invalidated, so a value with
// one is returned but not stored.
func Depend(ctx context.Context, tags ...string) { resident.FillOf(ctx).Depend(tags) }

// Previous returns the value that the load under ctx replaces. A loader can ask its source
// whether that value is still valid, and return [ErrNotModified]. Previous reports false if
// there is no such value or its type is not V. It also reports false if the value was invalidated.
// The loader must not change the value.
func Previous[V any](ctx context.Context) (V, bool) {
	v, ok := resident.FillOf(ctx).Previous().(V)
	return v, ok
}
