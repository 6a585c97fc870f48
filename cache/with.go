package cache

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/twofold-go/twofold/policy"
)

// With changes the policy of this call, field by field. It counts after the Config and the table of
// overrides, and before TTL of the same call. It says how long a value lives that the call loads or
// sets, and how the call loads, waits and refreshes. A value that this process holds keeps its
// lifetime. Of a value in the remote tier, LocalTTL, RefreshAhead and Stale count for the copy that
// this process takes, within the life that its writer gave it.
//
// Calls for one key share a load, by the policy of the call that began it. So all calls for a key
// should bring equivalent policies. Two fields are each caller's own: SoftTimeout, and Off. A call
// with Off shares no load with a call without it.
//
// A patch that makes a policy that is not valid is refused with [ErrOption] and a
// [policy.FieldError] for each fault. So is Off if it is false: that would undo the operator's kill
// switch.
//
// Keep the Option and pass it to many calls. Its first use in a cache resolves the policy, which
// allocates; a later hit allocates nothing. What the fields of p point to must not change.
func With(p policy.Patch) Option { return Option{kind: optWith, with: &callPolicy{patch: p}} }

// callPolicy is the policy of the calls that get one With. It is resolved again for another cache,
// or when the table of overrides is replaced.
type callPolicy struct {
	patch  policy.Patch
	recent [8]atomic.Pointer[derived] // by the view
}

// derived is a policy that was made from another.
type derived struct {
	from *policy.Policy
	policy.Policy
}

// over returns the policy of a view with the patch, or why the patch is refused.
func (c *callPolicy) over(v *view) (*policy.Policy, error) {
	if v == nil {
		return nil, nil // the call fails anyway
	}
	from := v.policy()
	recent := &c.recent[v.seed%uint64(len(c.recent))]
	if d := recent.Load(); d != nil && d.from == from {
		return &d.Policy, nil
	}
	d := &derived{from, c.patch.Apply(*from)}
	err := d.Validate()
	if off := c.patch.Off; off != nil && !*off {
		err = errors.Join(err, &policy.FieldError{Field: "Off", Problem: "false would undo the operator's kill switch; leave it nil"})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: With: %w", ErrOption, err)
	}
	recent.Store(d)
	return &d.Policy, nil
}
