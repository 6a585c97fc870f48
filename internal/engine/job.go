package engine

import (
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// Job describes one operation on one key. Once it is shared, only used changes. What holds a job
// names it and does not embed it: the compiler makes a wrapper of every promoted method for every
// Cache that a program has, which took it longer than the methods themselves.
type Job struct {
	v          *View
	t          *Core
	p          *policy.Policy
	op         string
	e          *Entry  // holds the key; nil until an ask needs it
	at         uint64  // address in the local tier
	full       key.Key // zero until spell, like hash
	hash       uint64  // of full, for cells and fences
	loader     any     // of the call or the Config, or nil; the kind calls it
	many       bool    // loads by LoadMany
	used       bool    // e holds a value, or belongs to another job; see take
	o          CallOpts
	minLoaded  int64
	refreshing *Entry // not nil: a background refresh of it
}

func (j *Job) start(v *View, op string, load any, o *Options) {
	j.v, j.t, j.p = v, v.t, o.Policy
	if j.p == nil {
		j.p = v.policy()
	}
	j.op, j.loader, j.o, j.minLoaded = op, load, o.CallOpts, -never
	if load == nil {
		j.loader = v.loader
	}
	j.many = j.loader == nil && v.loadsMany
}

// Begin makes j, which is zero, a job without a flight for a key.
func (j *Job) Begin(v *View, op string, full key.Key, at uint64, o *Options) {
	j.start(v, op, nil, o)
	j.at = at
	j.spelled(full)
}

// spell spells the key, which j.e holds.
func (j *Job) spell() error {
	if j.FullKey() != "" {
		return nil
	}
	full, err := j.v.kind.Spell(j.e)
	j.spelled(full)
	return err
}

func (j *Job) spelled(full key.Key) { j.full, j.hash = full, full.Hash() }

// same reports whether an entry of the job's view holds its key.
func (j *Job) same(e *Entry) bool { return j.v.kind.Same(j.e, e) }

// find returns what this process holds of the key, and the time it was judged at; see view.find.
func (j *Job) find() (*Entry, int64) { return j.v.find(j.at, j.same, 0) }

// FullKey returns the spelled key, or "" before spell.
func (j *Job) FullKey() string { return j.full.String() }

// far returns the remote tier, or nil if the job skips it.
func (j *Job) far() *remote.Tier {
	if j.o.SkipRemote {
		return nil
	}
	if j.v.far == nil { // LocalOnly
		return nil
	}
	return j.v.counts.Far
}

// standing returns the local item that may stand in for a load, or nil.
func (j *Job) standing() *Entry {
	if j.o.SkipLocal {
		return nil
	}
	return j.v.old(j.at, j.same)
}

// unfenced is it.unfenced for an entry of the job's key, which need not be spelled again.
func (j *Job) unfenced(it *Entry) bool {
	gen := j.t.fences.Generation() // before the check
	at := it.clearAt.Load()
	return at != covered && (it.clearSince(j.t, at, gen) || j.isClear(it, gen))
}

// unfencedNow is unfenced for an entry that is stored only now.
func (j *Job) unfencedNow(it *Entry) bool {
	gen := j.t.fences.Generation() // before the check
	return it.clearAt.Load() != covered && j.isClear(it, gen)
}

func (j *Job) isClear(it *Entry, gen uint64) bool {
	tick, fresh, ok := j.t.fences.ClearNow(it.born.Load(), j.hash, j.FullKey(), &it.Deps)
	return it.judged(gen, tick, fresh, ok)
}

func (j *Job) canLoad() bool { return j.loader != nil || j.many }

func (j *Job) fail(err error) error {
	if j.FullKey() == "" {
		return j.t.faults.Of(j.op, j.v.NameOf(j.v.kind.ID(j.e)), err)
	}
	return j.t.faults.Of(j.op, j.FullKey(), err)
}

// stored returns the error to remember. Every reading method returns it, so it says "get".
func (j *Job) stored(err error) error { return j.t.faults.Of("get", j.FullKey(), err) }
