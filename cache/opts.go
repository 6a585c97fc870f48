package cache

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/policy"
)

// callOpts are the options of a call that a job keeps.
type callOpts struct {
	ttl        time.Duration // 0: the policy's
	maxAge     time.Duration // negative: any
	noStale    bool
	anew       bool // accepts only a load that begins after the call
	skipLocal  bool
	skipRemote bool
	tags       []string
}

// options are what the options of a call say. A job keeps its callOpts.
type options struct {
	callOpts
	policy *policy.Policy // nil: the cache's
}

// anyAge is the options of a call without any.
var anyAge = options{callOpts: callOpts{maxAge: -1}}

// anyHit reports whether any value that this process may serve will do.
func (o *options) anyHit() bool {
	return o.maxAge < 0 && !o.noStale && !o.anew && !o.skipLocal && o.policy == nil
}

// ofRefresh returns the options of a refresh that the job causes.
func (j *job) ofRefresh() *options {
	o := &j.o
	return &options{callOpts{ttl: o.ttl, tags: o.tags, maxAge: -1, skipLocal: o.skipLocal, skipRemote: o.skipRemote}, j.p}
}

// within returns how old a lease may be for the call. MaxAge(0) accepts any lease: it serves no
// remote value, and its load must be able to replace one.
func (o *callOpts) within() time.Duration {
	if o.maxAge > 0 {
		return o.maxAge
	}
	return math.MaxInt64
}

// override is the policy of the calls that get one With. It is resolved again for another cache,
// or when the table of overrides is replaced.
type override struct {
	Patch  policy.Patch
	recent [8]atomic.Pointer[derived] // by the view
}

// derived is a policy that was made from another.
type derived struct {
	from *policy.Policy
	policy.Policy
}

// over returns the policy of a view with the patch, or why the patch is refused.
func (c *override) over(v *view) (*policy.Policy, error) {
	from := v.policy()
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
