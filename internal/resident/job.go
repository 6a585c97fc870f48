package resident

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// Job describes one operation on one key. Once it is shared, only Used changes. Types hold a job in
// a named field and do not embed it: the compiler would make a wrapper of every promoted method for every
// Cache that a program has. That took it longer than the methods themselves.
type Job struct {
	View       *View
	Core       *Core
	Policy     *policy.Policy
	Op         string
	Entry      *Entry  // holds the key; nil until an ask needs it
	Addr       uint64  // address in the local tier
	Full       key.Key // zero until Spell, like Hash
	Hash       uint64  // of Full, for cells and fences
	Loader     any     // of the call or the Config, or nil; the kind calls it
	Many       bool    // loads by LoadMany
	Used       bool    // Entry holds a value, or belongs to another job; see Take
	Opts       CallOpts
	MinLoaded  int64
	Refreshing *Entry // not nil: a background refresh of it
}

// Start makes j, which is zero, a job for a key that is not known yet. load is the loader of the call, or
// nil.
func (j *Job) Start(v *View, op string, load any, o *Options) {
	j.View, j.Core, j.Policy = v, v.Core, o.Policy
	if j.Policy == nil {
		j.Policy = v.Policy()
	}
	j.Op, j.Loader, j.Opts, j.MinLoaded = op, load, o.CallOpts, -Never
	if load == nil {
		j.Loader = v.loader
	}
	j.Many = j.Loader == nil && v.LoadsMany
}

// Begin makes j, which is zero, a job without a flight for a key.
func (j *Job) Begin(v *View, op string, full key.Key, at uint64, o *Options) {
	j.Start(v, op, nil, o)
	j.Addr = at
	j.spelled(full)
}

// Spell spells the key, which j.Entry holds.
func (j *Job) Spell() error {
	if j.FullKey() != "" {
		return nil
	}
	full, err := j.View.Kind.Spell(j.Entry)
	j.spelled(full)
	return err
}

func (j *Job) spelled(full key.Key) { j.Full, j.Hash = full, full.Hash() }

// Same reports whether an entry of the job's view holds its key.
func (j *Job) Same(e *Entry) bool { return j.View.Kind.Same(j.Entry, e) }

// Find returns what this process holds of the key, and the time of that check; see View.Find.
func (j *Job) Find() (*Entry, int64) { return j.View.Find(j.Addr, j.Same, 0) }

// FullKey returns the spelled key, or "" before Spell.
func (j *Job) FullKey() string { return j.Full.String() }

// Far returns the remote tier, or nil if the job skips it.
func (j *Job) Far() *remote.Tier {
	if (j.Opts.Skip|j.View.Skip)&SkipRemote != 0 {
		return nil
	}
	return j.View.Counts.Far
}

// Standing returns the local entry that may stand in for a load, or nil.
func (j *Job) Standing() *Entry {
	if j.Opts.Skip&SkipLocal != 0 {
		return nil
	}
	return j.View.old(j.Addr, j.Same)
}

// Unfenced reports whether no fence covers it, an entry of the job's key.
func (j *Job) Unfenced(it *Entry) bool {
	return it.UnfencedAs(j.Core.Fences, j.Hash, j.FullKey())
}

// Overtaken reports whether something of the job's key that depends on d has been invalidated since a mark;
// see [fence.Fences.Overtaken].
func (j *Job) Overtaken(m fence.Mark, d *fence.Deps) (fresh int64, overtaken bool) {
	s := j.subject(d)
	return j.Core.Fences.Overtaken(m, j.View.In, &s)
}

// Recent reports whether something of the job's key that depends on d was invalidated or expired after a time.
func (j *Job) Recent(since int64, d *fence.Deps) bool {
	s := j.subject(d)
	return j.Core.Fences.Recent(since, j.View.In, &s)
}

// Accepts reports whether the job's value that was stored under a mark, perhaps by another process, is still
// good; see [fence.Fences.Accepts].
func (j *Job) Accepts(m fence.Mark, d *fence.Deps) (fresh int64, ok bool) {
	s := j.subject(d)
	return j.Core.Fences.Accepts(m, j.View.In, &s)
}

func (j *Job) subject(d *fence.Deps) fence.Subject {
	return fence.Subject{Hash: j.Hash, Key: j.FullKey(), On: d}
}

// CanLoad reports whether the job has a loader.
func (j *Job) CanLoad() bool { return j.Loader != nil || j.Many }

// Fail returns an error of the job, with its operation and key.
func (j *Job) Fail(err error) error {
	if j.FullKey() == "" {
		return j.Core.Faults.Of(j.Op, j.View.NameOf(j.View.Kind.ID(j.Entry)), err)
	}
	return j.Core.Faults.Of(j.Op, j.FullKey(), err)
}

// Stored returns the error to remember. Every reading method returns it, so it says "get".
func (j *Job) Stored(err error) error { return j.Core.Faults.Of("get", j.FullKey(), err) }
