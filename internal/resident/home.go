package resident

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// Home is what the entries of one tenant's part of a cache share.
type Home struct {
	In     *fence.Namespace // the same for all views of the tenant and the namespace
	Space  key.Space
	Fences *fence.Fences // of the Tiers
	Owner  Owner
}

// Owner is what an entry asks about its cache. A plain hit asks for nothing.
type Owner interface {
	// KeyOf spells an entry's key, and Value returns a pointer to its value.
	KeyOf(e *Entry) (key.Key, error)
	Value(e *Entry) any

	// Policy returns the policy in force. Now returns the time, and whether the Tiers are open.
	Policy() *policy.Policy
	Now() (now int64, open bool)
}

// Source says which tier gave a value, or that the loader did. Zero means that the call failed.
type Source uint8

// The sources of a value.
const (
	Local Source = iota + 1
	Remote
	Load
)
