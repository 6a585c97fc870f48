package cache

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// job is one piece of work on one key: what is wanted. Nobody changes it once it is shared.
type job[K comparable, V any] struct {
	Cache[K, V]
	t          *Tiers
	p          *policy.Policy
	op         string
	k          K
	at         uint64  // address in the local tier
	full       key.Key // zero until it is spelled; so is hash
	hash       uint64  // of full, for cells and fences
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
	if j.FullKey() != "" {
		return nil
	}
	full, err := fullKey(j.v, j.k)
	j.full, j.hash = full, full.Hash()
	return err
}

// fullKey spells a key of a view.
func fullKey[K comparable](v *view, k K) (key.Key, error) {
	if again := k; again != k { // nobody would find it again
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

// FullKey implements follow.Keyed for the items of the job's key, without spelling it.
func (j *job[K, V]) FullKey() string { return j.full.String() }

// far returns the remote tier, or nil when the job does without.
func (j *job[K, V]) far() *remote.Tier {
	if j.o.skipRemote {
		return nil
	}
	return j.s.far
}

// standing returns what this process holds that may stand in for a load.
func (j *job[K, V]) standing() *item[K, V] {
	if j.o.skipLocal {
		return nil
	}
	return j.old(j.at, j.k)
}

// unfenced reports whether no fence covers it by now.
func (j *job[K, V]) unfenced(it *item[K, V]) bool { return it.unfenced(j.t, j) }

func (j *job[K, V]) canLoad() bool { return j.loader != nil || j.many }

// fail returns an error of the job's method.
func (j *job[K, V]) fail(err error) error {
	if j.FullKey() == "" {
		return j.Cache.fail(j.op, j.k, err)
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

// stored returns an error that is remembered: whoever reads it, by whatever method.
func (j *job[K, V]) stored(err error) error { return &Error{Op: "get", Key: j.FullKey(), Err: err} }

// change returns a job that changes an entry, and flies nowhere. A loader may change the
// entry that it loads: it waits for nothing.
func (c Cache[K, V]) change(op string, k K) (*job[K, V], error) {
	if c.s == nil {
		return nil, errZero(op)
	}
	j := new(job[K, V])
	j.start(c, op, k, nil, &anyAge)
	switch {
	case j.t.work.Closed():
		return nil, c.fail(op, k, ErrClosed)
	case c.v.err != nil:
		return nil, c.fail(op, k, c.v.err)
	}
	if err := j.spell(); err != nil {
		return nil, c.fail(op, k, err)
	}
	j.at = c.slot(k)
	return j, nil
}
