package cache

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// job describes one operation on one key. It does not change once it is shared. What holds a job
// names it and does not embed it: the compiler makes a wrapper of every promoted method for every
// Cache that a program has, which took it longer than the methods themselves.
type job[K comparable, V any] struct {
	s          *shared[K, V]
	v          *view
	t          *Tiers
	p          *policy.Policy
	op         string
	k          K
	at         uint64  // address in the local tier
	full       key.Key // zero until spell, like hash
	hash       uint64  // of full, for cells and fences
	loader     Loader[K, V]
	many       bool // loads by LoadMany
	o          callOpts
	minLoaded  int64
	refreshing *item[K, V] // not nil: a background refresh of it
}

func (j *job[K, V]) start(c Cache[K, V], op string, k K, load Loader[K, V], o *callOpts) {
	j.s, j.v, j.t, j.p = c.s, c.v, c.s.t, c.v.policy()
	j.op, j.k, j.loader, j.o, j.minLoaded = op, k, load, *o, -never
	if load == nil {
		j.loader = c.s.cfg.Load
	}
	j.many = j.loader == nil && c.s.cfg.LoadMany != nil
}

// cache returns the handle that the job was made with.
func (j *job[K, V]) cache() Cache[K, V] { return Cache[K, V]{s: j.s, v: j.v} }

func (j *job[K, V]) spell() error {
	if j.FullKey() != "" {
		return nil
	}
	full, err := fullKey(j.v, j.k)
	j.full, j.hash = full, full.Hash()
	return err
}

// fullKey spells a key of a view.
func fullKey[K comparable](v *view, k K) (key.Key, error) {
	if again := k; again != k { // no look-up would find it again
		return key.Key{}, fmt.Errorf("%w: the key holds a NaN, which is not equal to itself; use another key for it", key.ErrNumber)
	}
	full, err := v.spell(any(k))
	if err == nil && full == (key.Key{}) {
		var id string
		if id, err = key.Of(k); err == nil {
			full, err = v.space.Key(id)
		}
	}
	return full, err
}

// FullKey implements follow.Keyed. It returns the spelled key, or "" before spell.
func (j *job[K, V]) FullKey() string { return j.full.String() }

// far returns the remote tier, or nil if the job skips it.
func (j *job[K, V]) far() *remote.Tier {
	if j.o.skipRemote {
		return nil
	}
	return j.s.far
}

// standing returns the local item that may stand in for a load, or nil.
func (j *job[K, V]) standing() *item[K, V] {
	if j.o.skipLocal {
		return nil
	}
	return j.cache().old(j.at, j.k)
}

// unfenced reports whether no fence covers it now.
func (j *job[K, V]) unfenced(it *item[K, V]) bool { return it.unfenced(j.t, j) }

func (j *job[K, V]) canLoad() bool { return j.loader != nil || j.many }

func (j *job[K, V]) fail(err error) error {
	if j.FullKey() == "" {
		return j.cache().fail(j.op, j.k, err)
	}
	return &Error{Op: j.op, Key: j.FullKey(), Err: err}
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

// stored returns the error to remember. Every reading method returns it, so it says "get".
func (j *job[K, V]) stored(err error) error { return &Error{Op: "get", Key: j.FullKey(), Err: err} }

// changes makes j, which is zero, a job that changes an entry and has no flight. A loader may
// change the entry that it loads, because this waits for no load.
func (j *job[K, V]) changes(c Cache[K, V], op string, k K) error {
	if c.s == nil {
		return errZero(op)
	}
	j.start(c, op, k, nil, &anyAge)
	switch {
	case j.t.work.Closed():
		return c.fail(op, k, ErrClosed)
	case c.v.err != nil:
		return c.fail(op, k, c.v.err)
	}
	if err := j.spell(); err != nil {
		return c.fail(op, k, err)
	}
	j.at = c.slot(k)
	return nil
}
