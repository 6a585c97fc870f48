package cache

import (
	"fmt"
	"time"
)

// Option changes one call. It is a plain value, so that a call without options
// allocates nothing. The zero Option does nothing.
type Option struct {
	kind optionKind
	d    time.Duration
	on   bool
	tags []string
}

type optionKind uint8

const (
	optTTL optionKind = iota + 1
	optMaxAge
	optAllowStale
	optTags
)

// TTL replaces the policy's TTL for what this call loads or sets. The policy's
// jitter still applies.
func TTL(d time.Duration) Option { return Option{kind: optTTL, d: d} }

// MaxAge accepts only a value whose load began at most d ago; an older one is
// loaded anew. Zero accepts only a load that begins after the call.
func MaxAge(d time.Duration) Option { return Option{kind: optMaxAge, d: d} }

// AllowStale says whether a stale value will do. False refuses stale values,
// also those that would hide a failed load; true leaves it to the policy, which
// is the default.
func AllowStale(allow bool) Option { return Option{kind: optAllowStale, on: allow} }

// Tags adds tags of the handle's tenant to what this call loads or sets. The
// slice is not kept.
func Tags(tags ...string) Option { return Option{kind: optTags, tags: tags} }

// callOpts is the sum of a call's options.
type callOpts struct {
	ttl     time.Duration // 0: the policy's
	maxAge  time.Duration // negative: any
	noStale bool
	anew    bool // only a load that begins after the call will do
	tags    []string
}

// anyAge are the options of a call without any.
var anyAge = callOpts{maxAge: -1}

func collect(opts []Option) (callOpts, error) {
	o := anyAge
	for _, opt := range opts {
		switch opt.kind {
		case optTTL:
			if opt.d < time.Millisecond {
				return o, fmt.Errorf("option TTL of %v: want at least 1ms", opt.d)
			}
			o.ttl = opt.d
		case optMaxAge:
			if opt.d < 0 {
				return o, fmt.Errorf("option MaxAge of %v: want 0 or more", opt.d)
			}
			o.maxAge, o.anew = opt.d, opt.d == 0
		case optAllowStale:
			o.noStale = !opt.on
		case optTags:
			o.tags = append(o.tags, opt.tags...)
		}
	}
	return o, nil
}
