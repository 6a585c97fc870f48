package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Set invalidates k and puts v in its place, in both tiers: when it returns,
// reads in this process see v, and no load that began earlier can bring an
// older value back. Two processes that Set one key at the same time race, and
// the tiers may keep either value; where that matters, write to the source and
// [Cache.Delete].
//
// It returns an error when v cannot be stored (it does not encode, is over the
// policy's MaxValueBytes, or has more than 64 tags) and when the remote tier
// could not be reached. The old value is invalidated in this process all the
// same. With the policy's Off, Set only invalidates.
func (c Cache[K, V]) Set(ctx context.Context, k K, v V, opts ...Option) error {
	o, err := collect(opts)
	if err != nil {
		return c.fail("set", k, err)
	}
	j, err := c.change(ctx, "set", k, o)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return j.fail(err)
	}
	it, payload, bad := j.prepare(v)
	var unlinked error
	if j.t.remote != nil || j.t.follower != nil { // else there is only the fence, which replace stores
		unlinked = j.t.spread(ctx, j.p.RemoteTimeout, invalidate.Request{Scopes: []invalidate.Scope{invalidate.Key(j.full)}})
	}
	mark := j.replace(it, bad == nil && !j.p.Off)
	j.t.all.inc(invalidatedKeys)
	if err := errors.Join(bad, unlinked); err != nil {
		return j.fail(err)
	}
	if j.t.remote == nil || j.p.Off {
		return nil
	}
	if err := j.writeRemote(it, payload, mark); err != nil {
		return j.fail(err)
	}
	return nil
}

// prepare makes an item of a value to set, and says why it cannot be stored.
func (j *job[K, V]) prepare(v V) (it *item[K, V], payload []byte, err error) {
	if j.s.cfg.Clone != nil {
		v = j.s.cfg.Clone(v)
	}
	it = j.newItem(invalidate.Mark{})
	it.val = v
	var own []string
	if j.s.cfg.Tags != nil {
		own = j.s.cfg.Tags(j.k, v)
	}
	f := facts{vouched: never}
	j.setTags(it, own, &f)
	if f.badTag {
		return it, nil, fmt.Errorf("%w: a tag of the value is empty, longer than %d bytes or not UTF-8", invalidate.ErrScope, invalidate.MaxTagLen)
	}
	if len(it.tags) > tier.MaxTags {
		return it, nil, fmt.Errorf("%w: more than %d", ErrTooManyTags, tier.MaxTags)
	}
	size := j.s.size(&it.val)
	if j.t.remote != nil {
		if payload, err = j.s.encode(v); err != nil {
			return it, nil, err
		}
		size = int64(len(payload))
	}
	if size > int64(j.p.MaxValueBytes) {
		return it, nil, fmt.Errorf("%w: %d bytes, MaxValueBytes is %d", ErrTooLarge, size, j.p.MaxValueBytes)
	}
	return it, payload, nil
}

// replace fences the key and, in the same step, puts the item in place of
// whatever was there. It returns the mark of the new value.
func (j *job[K, V]) replace(it *item[K, V], keep bool) invalidate.Mark {
	mu := &j.t.puts[j.at%uint64(len(j.t.puts))]
	mu.Lock()
	defer mu.Unlock()
	j.t.fences.Fence(invalidate.Key(j.full))
	mark := j.t.fences.Capture()
	it.Born, it.AsOf = mark.Tick, mark.Scope
	it.loadedAt = j.t.now()
	it.here = true
	if !keep {
		j.t.local.Delete(j.at)
		return mark
	}
	ttl := j.p.TTL
	if j.o.ttl > 0 {
		ttl = j.o.ttl
	}
	it.live(j.t.now(), j.lifetime(it, ttl, -1))
	j.putLocked(it)
	return mark
}

// writeRemote claims the key that was just unlinked and fills it. When another
// process has claimed it since, its load began after the unlinking and may
// stand.
func (j *job[K, V]) writeRemote(it *item[K, V], payload []byte, mark invalidate.Mark) error {
	c := tier.Claim{Nonce: tier.NewNonce(), Lease: j.t.cfg.ClaimTTL}
	got, err := j.t.remote.claim(j.ctx, j.p.RemoteTimeout, j.text, c)
	if err != nil {
		return err
	}
	if !got.Granted {
		j.v.counts.inc(fillLost)
		return nil
	}
	cell, keep, err := j.freeze(it, payload, c.Nonce, mark)
	if err != nil {
		return err
	}
	ok, err := j.t.remote.fill(j.ctx, j.p.RemoteTimeout, j.text, tier.Fill{Nonce: c.Nonce, Cell: cell, TTL: keep})
	switch {
	case err != nil:
		j.v.counts.inc(fillFailed)
	case ok:
		j.v.counts.inc(fillStored)
	default:
		j.v.counts.inc(fillLost)
	}
	return err
}

// Delete invalidates k, as [Tiers.Invalidate] does. Deleting what is not there
// is no error. More scopes may be invalidated in the same step, and
// invalidate.Strict or invalidate.Hold may be among them.
func (c Cache[K, V]) Delete(ctx context.Context, k K, more ...invalidate.Scope) error {
	j, err := c.change(ctx, "delete", k, callOpts{maxAge: -1})
	if err != nil {
		return err
	}
	if err := j.t.invalidate(ctx, j.p.RemoteTimeout, append([]invalidate.Scope{invalidate.Key(j.full)}, more...)...); err != nil {
		return j.fail(err)
	}
	j.t.local.Delete(j.at) // only to give the memory back
	return nil
}

// DeleteAll invalidates every key of the handle's tenant and namespace. It
// takes the same time whether there is one or a million: it is
// invalidate.Prefix of "tenant:namespace:". More scopes may be invalidated in
// the same step, as with [Cache.Delete].
func (c Cache[K, V]) DeleteAll(ctx context.Context, more ...invalidate.Scope) error {
	if c.s == nil {
		return errZero("delete all")
	}
	err := c.v.err
	if err == nil {
		err = c.s.t.invalidate(ctx, c.v.policy().RemoteTimeout,
			append([]invalidate.Scope{invalidate.Prefix(c.v.space.Prefix())}, more...)...)
	}
	if err != nil {
		return &Error{Op: "delete all", Key: c.v.name, Err: err}
	}
	return nil
}

// Invalidate makes everything the scopes cover untrue. When it returns nil, no
// read that starts afterwards in this process returns a value whose load began
// before; nor does one in any other process that follows the same log, a bound
// later or, with invalidate.Strict among the scopes, at once. Without a log,
// keys are removed from the remote tier for everybody, and prefixes and tags
// reach this process alone.
//
// A scope that cannot be used is refused before anything is done. When the log
// or the remote tier cannot be reached, the scopes are applied in this process
// and the error says so: an [*invalidate.PendingError] when there is a log,
// and then the invalidation goes on being tried in the background. Invalidate
// waits for that until ctx ends or a bound has passed.
func (t *Tiers) Invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	timeout := t.policies.Load().For(policy.Default(), "", "").RemoteTimeout
	if err := t.invalidate(ctx, timeout, scopes...); err != nil {
		name := fmt.Sprintf("%d scopes", len(scopes))
		if len(scopes) == 1 {
			name = scopes[0].String()
		}
		return &Error{Op: "invalidate", Key: name, Err: err}
	}
	return nil
}

func (t *Tiers) invalidate(ctx context.Context, timeout time.Duration, scopes ...invalidate.Scope) error {
	if t.work.isClosed() {
		return ErrClosed
	}
	r, err := invalidate.NewRequest(scopes...)
	if err != nil {
		return err
	}
	ctx, end := t.seen.invalidateStart(ctx, len(r.Scopes))
	before := t.registrations()
	err = t.spread(ctx, timeout, r)
	t.forget(r.Scopes, before)
	for _, s := range r.Scopes {
		t.all.inc(invalidatedKeys + stat(s.Kind()-invalidate.KindKey))
	}
	end(err)
	return err
}

// spread applies a request here and tells everybody else, as far as there is a
// way to.
func (t *Tiers) spread(ctx context.Context, timeout time.Duration, r invalidate.Request) error {
	if t.follower != nil {
		return t.follower.Invalidate(ctx, r)
	}
	// The cells go first: a fetch that begins after the fence must not find
	// what the fence is about.
	err := t.remove(ctx, timeout, r.Keys(), r.Hold)
	t.fences.Apply(r)
	return err
}

// Refresh loads k now, whatever is cached, and stores the result. Reads are
// served what is cached meanwhile, and go on being served it when the load
// fails. It returns the load's error, [ErrNotFound] included.
func (c Cache[K, V]) Refresh(ctx context.Context, k K) error {
	_, err := c.read(ctx, "refresh", k, nil, callOpts{noStale: true, anew: true})
	return err
}

// Expire ends the freshness of k, but not its life: the next read treats it as
// stale, serves it as far as the policy's Stale and StaleIfError go, and loads
// it anew. Other processes learn of it when they ask the remote tier. Expiring
// what is not there is no error.
func (c Cache[K, V]) Expire(ctx context.Context, k K) error {
	j, err := c.change(ctx, "expire", k, callOpts{maxAge: -1})
	if err != nil {
		return err
	}
	if it := j.find(k); it != nil {
		j.expireLocal(it)
	}
	if j.t.remote == nil {
		return nil
	}
	if err := j.expireRemote(ctx); err != nil {
		return j.fail(err)
	}
	return nil
}

func (j *job[K, V]) expireLocal(it *item[K, V]) {
	now := j.t.now()
	n := it.again(now, lifetime{stale: j.p.Stale, hard: policy.Add(j.p.Stale, j.p.StaleIfError)})
	if n.err != nil {
		n.hardUntil = now
	}
	n.hardUntil = min(n.hardUntil, it.hardUntil)
	n.staleUntil = min(n.staleUntil, n.hardUntil)
	n.trustTo(n.softUntil)
	j.put(n)
}

// expireRemote rewrites the cell under a refresh claim, so that a refresh or a
// load that runs meanwhile wins.
func (j *job[K, V]) expireRemote(ctx context.Context) error {
	mark := j.t.fences.Capture()
	raw, err := j.t.remote.get(ctx, j.p.RemoteTimeout, j.text)
	if err != nil {
		return err
	}
	f := j.judge(raw, mark)
	if f.verdict != usable {
		return nil
	}
	claim := tier.Claim{Seen: f.nonce, Nonce: tier.NewNonce(), Lease: j.t.cfg.ClaimTTL, Refresh: true}
	got, err := j.t.remote.claim(ctx, j.p.RemoteTimeout, j.text, claim)
	if err != nil || !got.Granted {
		return err
	}
	cell, err := tier.ParseCell(raw)
	if err != nil {
		return err
	}
	wall := time.Now()
	hard := wall.Add(policy.Add(j.p.Stale, j.p.StaleIfError)).UnixMilli()
	cell.Nonce = claim.Nonce
	cell.SoftAt = wall.UnixMilli()
	cell.HardAt = min(cell.HardAt, hard)
	cell.RefreshUntil = 0
	b, err := cell.Encode()
	if err != nil {
		return err
	}
	keep := max(time.Duration(cell.HardAt-wall.UnixMilli())*time.Millisecond, time.Millisecond)
	_, err = j.t.remote.fill(ctx, j.p.RemoteTimeout, j.text, tier.Fill{Nonce: claim.Nonce, Cell: b, TTL: keep})
	return err
}
