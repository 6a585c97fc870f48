package resident

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/policy"
)

// CallOpts are the options of a call that a job keeps.
type CallOpts struct {
	TTL     time.Duration // 0: the policy's
	MaxAge  time.Duration // negative: any
	NoStale bool
	Anew    bool // accepts only a load that begins after the call
	Skip    Tiers
	Tags    []string
}

// Tiers is a set of tiers that a call does not touch. LocalOnly skips the remote tier in every call of a view.
type Tiers uint8

// The tiers.
const (
	SkipLocal Tiers = 1 << iota
	SkipRemote
)

// Options are what the options of a call say. A job keeps its CallOpts.
type Options struct {
	CallOpts
	Policy *policy.Policy // nil: the cache's
}

// AnyAge is the options of a call without any.
var AnyAge = Options{CallOpts: CallOpts{MaxAge: -1}}

// AnyHit reports whether any value that this process may serve will do.
func (o *Options) AnyHit() bool {
	return o.MaxAge < 0 && !o.NoStale && !o.Anew && o.Skip&SkipLocal == 0 && o.Policy == nil
}

// OfRefresh returns the options of a refresh that the job causes.
func (j *Job) OfRefresh() *Options {
	o := &j.Opts
	return &Options{CallOpts{TTL: o.TTL, Tags: o.Tags, MaxAge: -1, Skip: o.Skip}, j.Policy}
}

// Within returns how old a lease may be for the call. MaxAge(0) accepts any lease: it serves no
// remote value, and its load must be able to replace one.
func (o *CallOpts) Within() time.Duration {
	if o.MaxAge > 0 {
		return o.MaxAge
	}
	return math.MaxInt64
}

// Override is the policy of the calls that get one With. It is resolved again for another cache,
// or when the table of overrides is replaced.
type Override struct {
	Patch  policy.Patch
	recent [8]atomic.Pointer[derived] // by the view
}

// derived is a policy that was made from another.
type derived struct {
	from *policy.Policy
	policy.Policy
}

// Over returns the policy of a view with the patch, or why the patch is refused.
func (c *Override) Over(v *View) (*policy.Policy, error) {
	from := v.Policy()
	recent := &c.recent[v.seed%uint64(len(c.recent))]
	if d := recent.Load(); d != nil && d.from == from {
		return &d.Policy, nil
	}
	d := &derived{from, c.Patch.Apply(*from)}
	err := d.Validate()
	if off := c.Patch.Off; off != nil && !*off {
		err = errors.Join(err, &policy.FieldError{Field: "Off", Problem: "false would undo the operator's kill switch; leave it nil"})
	}
	if err != nil {
		return nil, err
	}
	recent.Store(d)
	return &d.Policy, nil
}
