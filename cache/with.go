package cache

import (
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/policy"
)

// With changes the policy of this call, field by field. It counts after the Config and the table of
// overrides, and before TTL of the same call. It says how long a value lives that the call loads or
// sets, and how the call loads, waits and refreshes. A value that this process holds keeps its
// lifetime. For a value in the remote tier, LocalTTL, RefreshAhead and Stale count for this
// process's copy, within the life that its writer gave it.
//
// Calls for one key share a load, by the policy of the call that began it, so all calls for a key
// should bring equivalent policies. Two fields are each caller's own: SoftTimeout, and Off. A call
// with Off shares no load with a call without it.
//
// A patch that makes an invalid policy is refused with [ErrOption] and a [policy.FieldError] for
// each fault. Off is refused if it is false, because that would undo the operator's kill switch.
//
// Keep the Option and pass it to many calls. Its first use in a cache resolves the policy, which
// allocates; a later hit allocates nothing. The values that p's fields point to must not change.
func With(p policy.Patch) Option { return Option{kind: optWith, with: &resident.Override{Patch: p}} }
