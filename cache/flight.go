package cache

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	calls "github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// Source says where a value came from.
type Source uint8

// The sources of a value. The zero Source is none: the call failed.
const (
	Local  Source = iota + 1 // this process's tier
	Remote                   // the shared tier
	Load                     // the loader
)

// String returns "local", "remote", "load", or "none".
func (s Source) String() string {
	if s > Load {
		s = 0
	}
	return [...]string{"none", "local", "remote", "load"}[s]
}

// staleReason says why a stale value was served.
type staleReason uint8

const (
	notStale     staleReason = iota
	revalidating             // within Stale, a refresh runs
	failedLoad               // within StaleIfError, the load failed
	softTimeout              // the load takes longer than SoftTimeout
)

// job is one piece of work on one key: what is wanted. Nobody changes it once it is shared.
type job[K comparable, V any] struct {
	Cache[K, V]
	t          *Tiers
	p          *policy.Policy
	op         string
	k          K
	at         uint64  // address in the local tier
	full       key.Key // zero until it is spelled; so are text and hash
	text       string
	hash       uint64 // of text, for cells and fences
	loader     Loader[K, V]
	many       bool // loads by LoadMany
	o          callOpts
	minLoaded  int64
	refreshing *item[K, V] // not nil: a background refresh of it
}

func (j *job[K, V]) start(c Cache[K, V], op string, k K, load Loader[K, V], o *callOpts) {
	j.Cache, j.t, j.p = c, c.s.t, c.v.policy()
	j.op, j.k, j.loader, j.o, j.minLoaded = op, k, load, *o, -never
	if load == nil {
		j.loader = c.s.cfg.Load
	}
	j.many = j.loader == nil && c.s.cfg.LoadMany != nil
}

// spell spells the key, once.
func (j *job[K, V]) spell() error {
	if j.text != "" {
		return nil
	}
	if k := j.k; k != j.k { // nobody would find it again
		return fmt.Errorf("%w: the key holds a NaN, which is not equal to itself; use another key for it", key.ErrNumber)
	}
	full, err := j.v.spell(any(j.k))
	if err == nil && full == (key.Key{}) {
		var id string
		if id, err = key.Of(j.k); err == nil {
			full, err = j.v.space.Key(id)
		}
	}
	j.full, j.text, j.hash = full, full.String(), full.Hash()
	return err
}

// FullKey implements invalidate.Keyed for the items of the job's key, without spelling it.
func (j *job[K, V]) FullKey() string { return j.text }

// unfenced reports whether no fence covers it by now.
func (j *job[K, V]) unfenced(it *item[K, V]) bool { return it.unfenced(j.t, j) }

func (j *job[K, V]) canLoad() bool { return j.loader != nil || j.many }

// fail returns an error of the job's method.
func (j *job[K, V]) fail(err error) error {
	if j.text == "" {
		return j.Cache.fail(j.op, j.k, err)
	}
	return &Error{Op: j.op, Key: j.text, Err: err}
}

func (c Cache[K, V]) fail(op string, k K, err error) error {
	if c.s == nil {
		return errZero(op)
	}
	name := c.v.name
	if id, e := key.Of(k); e == nil && len(id) <= key.MaxLen {
		name += ":" + id
	}
	return &Error{Op: op, Key: name, Err: err}
}

// flight is one key being fetched or loaded, for all who ask for it. It is what their
// goroutines share: the job and its terms never change, the rest has locks of its own. It
// knows nothing of the goroutine that does the work; see party.
type flight[K comparable, V any] struct {
	job[K, V]
	mark  invalidate.Mark // captured before anything was fetched
	begun int64           // when its leader called
	outer *Fill           // the load that the flight is an ingredient of

	calls.Call[*flight[K, V], outcome[K, V]]
	lent    scope.Latch          // opened when a load waits for this flight; see takeTurn
	loading atomic.Bool          // a loader was called
	fill    atomic.Pointer[Fill] // the latest load; see Fill.await
	look    scope.Deadline       // of the first call to the remote tier
}

// outcome is what a flight ends with.
type outcome[K comparable, V any] struct {
	it       *item[K, V] // the value or remembered absence; nil when err is set
	src      Source
	stale    staleReason // not zero: it is served although it is not fresh
	err      error       // why there is no value
	cause    error       // why it is absent, as the loader said it
	old      *item[K, V] // beside err: what may be served in its place
	again    bool        // nothing was learnt; whoever waits starts over
	panicked *PanicError
	span     *trace.SpanContext // of the load, for the spans of those who waited for it; nil: it has none
	then     *item[K, V]        // what is to be refreshed when the flight has ended
}

// end ends the flight, unless it has ended already. What follows comes after it: a refresh
// that begins before would find the flight and leave the work to it. Any goroutine may
// call it. The values of ctx are those of the refresh.
func (f *flight[K, V]) end(ctx context.Context, out outcome[K, V]) {
	if !f.Finish(out) {
		return
	}
	if f.refreshing != nil {
		f.refreshed(&out)
	}
	if out.then != nil {
		f.refreshLater(ctx, out.then)
	}
}

// failed ends the flight with an error. An old value that may stand in for it is put back
// for a while, so that a broken source is not asked by every read; and before anybody is
// woken, or the next read would ask it.
func (f *flight[K, V]) failed(ctx context.Context, out outcome[K, V], spare *item[K, V]) {
	out.old = f.standIn(spare)
	if out.old != nil && f.refreshing == nil && f.Wanted() {
		f.spareSource(out.old)
	}
	f.end(ctx, out)
}

// standIn returns what may be served when the load fails, spare perhaps: a value of the
// remote tier that the local one may not have taken.
func (f *flight[K, V]) standIn(spare *item[K, V]) *item[K, V] {
	if it := f.old(f.at, f.k); it != nil || spare == nil {
		return it
	}
	if spare.err != nil || spare.freshness(f.t.now()) == dead || !f.clear(spare) {
		return nil
	}
	return spare
}

// old returns what may be served when the load fails or takes too long: an
// entry of any age its policy allows, but never an invalidated one.
func (c Cache[K, V]) old(at uint64, k K) *item[K, V] {
	it := c.find(at, k)
	if it == nil || it.err != nil || it.freshness(c.s.t.now()) == dead {
		return nil
	}
	return it
}

// clear reports whether it is vouched for and no fence covers it by now.
func (c Cache[K, V]) clear(it *item[K, V]) bool {
	t := c.s.t
	lease := t.lease.Read() // before the fences
	return t.vouches(lease, t.now(), it.readAt()) && it.unfenced(t, it)
}
