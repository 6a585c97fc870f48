package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Set invalidates k and puts v in its place, in both tiers: when it returns,
// reads in this process see v, and no load that began earlier can bring an
// older value back. An invalidation that comes while Set runs may win: then
// neither tier keeps v, and the next read loads. Two processes that Set one key
// at the same time race, and the tiers may keep either value; where that matters,
// write to the source and [Cache.Delete].
//
// It returns an error when v cannot be stored (it does not encode, is over the
// policy's MaxValueBytes, or has more than 64 tags) and when the remote tier
// could not be reached. The old value is invalidated in this process all the
// same, also when ctx has ended. With the policy's Off, Set only invalidates. A value for
// which a local tier alone has no room is an [ErrTooLarge].
func (c Cache[K, V]) Set(ctx context.Context, k K, v V, opts ...Option) error {
	o, err := collect(opts)
	if err != nil {
		return c.fail("set", k, wrongUse(err))
	}
	j, err := c.change("set", k)
	if err != nil {
		return err
	}
	j.o = o
	j.t.all.inc(invalidatedKeys)
	it, payload, size, bad := j.prepare(v)
	if bad == nil {
		bad = ctx.Err() // the value is not stored; the old one is invalidated, as by Delete
	}
	if err := errors.Join(bad, j.set(ctx, it, payload, size, bad == nil && !j.p.Off)); err != nil {
		return j.fail(err)
	}
	return nil
}

// set tells everybody that the old value is untrue and, with keep, puts the item
// in its place.
func (j *job[K, V]) set(ctx context.Context, it *item[K, V], payload []byte, size int64, keep bool) error {
	if j.t.remote == nil && j.t.follower == nil { // there is only the fence, which replace stores
		return j.replace(it, size, keep)
	}
	claimed, gone, unseized := j.seize(ctx, keep)
	key := []invalidate.Scope{invalidate.Key(j.full)}
	err := j.t.spread(ctx, j.p.RemoteTimeout, invalidate.Request{Scopes: key, Removed: gone})
	if err == nil && !claimed.IsZero() {
		return j.fillClaimed(ctx, it, payload, size, claimed)
	}
	if !claimed.IsZero() { // others need not wait for its lease to lapse
		_, _ = j.fillCell(ctx, tier.Fill{Nonce: claimed})
	}
	return errors.Join(err, unseized, j.replace(it, size, keep))
}

// prepare makes an item of a value to set, and says why it cannot be stored.
func (j *job[K, V]) prepare(v V) (it *item[K, V], payload []byte, size int64, err error) {
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
		return it, nil, 0, fmt.Errorf("%w: a tag of the value is empty, longer than %d bytes or not UTF-8", invalidate.ErrScope, invalidate.MaxTagLen)
	}
	if len(it.tags) > tier.MaxTags {
		return it, nil, 0, fmt.Errorf("%w: more than %d", ErrTooManyTags, tier.MaxTags)
	}
	size = j.sizeOf(it)
	switch {
	case j.t.remote != nil:
		payload, err = j.s.encode(v, j.p.MaxValueBytes)
	case size > int64(j.p.MaxValueBytes):
		err = fmt.Errorf("%w: %d bytes, MaxValueBytes is %d", ErrTooLarge, size, j.p.MaxValueBytes)
	}
	return it, payload, size, err
}

// seize takes the key's cell for a Set that is to keep its value, from whatever
// stands there: a value, or another's claim. It comes before the Set's record, so
// that an invalidation from then on takes the claim away, and the fill is
// refused. Were it the other way round, the Set could fill behind a removal whose
// record no process remembers some day. The zero nonce means that there is no
// claim; gone says that there is no value in the cell any more, either way. An error says
// why the remote tier will not have the value.
func (j *job[K, V]) seize(ctx context.Context, keep bool) (claimed tier.Nonce, gone bool, err error) {
	if !keep || j.t.remote == nil {
		return tier.Nonce{}, false, nil
	}
	c := tier.Claim{Nonce: tier.NewNonce(), Lease: j.t.cfg.ClaimTTL}
	for range maxRefusals {
		got, err := j.claimCell(ctx, c)
		switch {
		case err != nil:
			return tier.Nonce{}, false, unreached(err)
		case got.Granted:
			return c.Nonce, true, nil
		case len(got.Cell) <= tier.NonceSize: // a hold; nothing is to be stored there
			j.v.counts.inc(fillNoStore)
			return tier.Nonce{}, true, nil
		}
		c.Seen = tier.Nonce(got.Cell[1:])
	}
	j.v.counts.inc(fillLost)
	return tier.Nonce{}, false, nil
}

// replace fences the key and, in the same step, puts the item in place of
// whatever was there.
func (j *job[K, V]) replace(it *item[K, V], size int64, keep bool) error {
	mu := &j.t.puts[j.at%uint64(len(j.t.puts))]
	mu.Lock()
	defer mu.Unlock()
	j.t.fences.Fence(invalidate.Key(j.full))
	if !keep {
		j.t.local.Delete(j.at)
		return nil
	}
	j.date(it)
	if !j.putLocked(it, size) && j.t.remote == nil {
		return fmt.Errorf("%w: the local tier has no room for an entry of about %d bytes", ErrTooLarge, j.cost(it, size))
	}
	return nil
}

// date makes an item as old as what this process knows now, and returns the mark
// of that.
func (j *job[K, V]) date(it *item[K, V]) invalidate.Mark {
	mark := j.t.fences.Capture()
	it.born.Store(mark.Tick)
	it.loadedAt, it.here = j.t.now(), true
	ttl := j.p.TTL
	if j.o.ttl > 0 {
		ttl = j.o.ttl
	}
	it.live(it.loadedAt, j.lifetime(it, ttl, -1))
	return mark
}

// fillClaimed fills the claimed cell, behind the Set's record. When the claim was
// taken away meanwhile, an invalidation or another Set came last. This process
// does not keep the value either, then.
func (j *job[K, V]) fillClaimed(ctx context.Context, it *item[K, V], payload []byte, size int64, claimed tier.Nonce) error {
	mark := j.date(it)
	cell, keep, err := j.freeze(it, payload, claimed, mark)
	if err != nil {
		return err
	}
	ok, err := j.fillCell(ctx, tier.Fill{Nonce: claimed, Cell: cell, TTL: keep})
	switch {
	case err != nil:
		err = unreached(err)
		j.v.counts.inc(fillFailed)
	case ok:
		j.v.counts.inc(fillStored)
	default:
		j.v.counts.inc(fillLost)
		return nil
	}
	j.putSized(it, size)
	return err
}
