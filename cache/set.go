package cache

import (
	"cmp"
	"context"
	"fmt"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Set invalidates k and stores v in both tiers. When it returns, reads in this process see v,
// and no load that began earlier can bring back an older value. An invalidation that comes while
// Set runs may win: then neither tier keeps v, and the next read loads. If two processes Set one
// key at the same time, they race, and the tiers may keep either value. If that matters, write
// to the source and [Cache.Delete]. A hold that covers the key or a tag of v ([invalidate.Hold])
// keeps v out of the remote tier, not out of this process.
//
// Set returns an error if v cannot be stored: it does not encode, is over the policy's
// MaxValueBytes (in memory, if there is no remote tier), or has a tag that is not valid. It also
// returns an error if the remote tier cannot be reached. In both cases the old value is still
// invalidated in this process, also when ctx has ended. With the policy's Off, Set only
// invalidates. If there is only a local tier and it has no room for the value, the error is
// [ErrTooLarge].
func (c Cache[K, V]) Set(ctx context.Context, k K, v V, opts ...Option) error {
	o, err := collectSet(c.v, opts)
	if err != nil {
		return c.fail("set", k, wrongUse(err))
	}
	one := make([]setting, 1)
	if err := c.start(ctx, &one[0], "set", k, v, o); err != nil {
		return err
	}
	setAll(ctx, one)
	if err := one[0].err; err != nil {
		return one[0].j.fail(err)
	}
	return nil
}

// setting is one value that Set stores.
type setting struct {
	j       job
	it      *entry
	payload encoded
	size    int64
	keep    bool       // false: only invalidate
	held    bool       // a hold keeps it out of the remote tier
	claim   tier.Claim // on its cell
	claimed bool
	gone    bool // its cell no longer holds a value
	written bool // its record is in the log and applied here
	err     error
}

// start prepares a setting, which is zero. An error means that it must not be used; one in s.err
// is about the value alone.
func (c Cache[K, V]) start(ctx context.Context, s *setting, op string, k K, v V, o options) error {
	if err := c.changes(&s.j, op, k, &o); err != nil {
		return err
	}
	s.j.e = blank[K, V](c.v, k)
	itemOf[K, V](s.j.e).val = v
	s.prepare(ctx)
	return nil
}

// prepare prepares the job's entry, which holds the value.
func (s *setting) prepare(ctx context.Context) {
	s.j.t.all.inc(invalidatedKeys)
	if s.it, s.payload, s.size, s.err = s.j.prepare(); s.err == nil {
		s.err = ctx.Err() // the value is not stored; the old one is invalidated, as by Delete
	}
	s.keep = s.err == nil && !s.j.p.Off && (s.j.p.NegativeTTL > 0 || !s.it.empty())
	s.held = s.j.t.fences.Held(s.j.hash, s.j.FullKey(), &s.it.Deps, s.j.t.now())
}

// prepare makes the entry of a value to set ready, or returns why it cannot be stored.
func (j *job) prepare() (it *entry, payload encoded, size int64, err error) {
	it = j.take(follow.Mark{})
	j.v.kind.Clone(it)
	if j.v.kind.Empty(it) {
		it.agree(neverStale)
	}
	f := facts{vouched: never}
	j.setTags(it, j.v.kind.Tags(it), &f)
	if f.badTag {
		return it, encoded{}, 0, fmt.Errorf("%w: a tag of the value is empty, longer than %d bytes or not UTF-8", invalidate.ErrScope, invalidate.MaxTagLen)
	}
	if it.many() {
		j.v.counts.inc(fillManyTags)
	}
	size = j.sizeOf(it)
	switch {
	case j.far() != nil:
		payload, err = j.v.encode(j.v.kind.Value(it), j.p.MaxValueBytes)
	case size > int64(j.p.MaxValueBytes):
		err = fmt.Errorf("%w: %d bytes, MaxValueBytes is %d", ErrTooLarge, size, j.p.MaxValueBytes)
	}
	return it, payload, size, err
}

// replace fences the key and stores the item in the same step.
func (j *job) replace(ctx context.Context, it *entry, size int64, keep bool) error {
	j.t.fences.Await(ctx) // before the lock
	mu := j.t.putsOf(j.at)
	mu.Lock()
	defer mu.Unlock()
	j.t.fences.Fence(invalidate.Key(j.full))
	if !keep || j.o.skipLocal {
		j.t.local.Delete(j.at)
		return nil
	}
	j.date(it)
	if !j.putLocked(it, size) && j.far() == nil {
		return fmt.Errorf("%w: the local tier has no room for an entry of about %d bytes", ErrTooLarge, j.cost(it, size))
	}
	return nil
}

// empty reports whether prepare found the item's value empty. No other value to set has terms.
func (it *entry) empty() bool { return it.terms != nil }

// date gives an item the age of what this process knows now, and returns the mark of that.
func (j *job) date(it *entry) follow.Mark {
	mark := j.t.fences.Capture()
	it.born.Store(mark.Tick)
	it.loadedAt, it.here = j.t.now(), true
	ttl := cmp.Or(j.o.ttl, j.p.TTL)
	if it.empty() {
		ttl = j.p.NegativeTTL
	}
	it.live(it.loadedAt, j.lifetime(it, ttl))
	return mark
}
