package cache

import (
	"fmt"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Option changes one call. It is a plain value, so that a call without options
// allocates nothing. The zero Option does nothing; of two of a kind the last counts, except
// that tags add up. A call refuses an option that it does not take, and one whose value is
// out of range, by an [ErrOption].
//
//	                     TTL  Tags  SkipLocal  SkipRemote  MaxAge  AllowStale
//	Fetch, GetOrLoad      x    x        x          x          x        x
//	GetMany               x    x        x          x          x        x
//	Set                   x    x        x          x
type Option struct {
	kind optionKind
	d    time.Duration
	on   bool
	tags []string
}

type optionKind uint8

const (
	optTTL optionKind = iota + 1
	optTags
	optSkipLocal
	optSkipRemote
	optMaxAge // from here on: what a read accepts
	optAllowStale
)

// TTL replaces the policy's TTL for what this call loads or sets. The policy's
// jitter still applies. It is 1 ms at least.
func TTL(d time.Duration) Option { return Option{kind: optTTL, d: d} }

// MaxAge accepts only a value whose load began at most d ago; an older one is
// loaded anew. Zero accepts only a load that begins after the call. A negative d is an error.
func MaxAge(d time.Duration) Option { return Option{kind: optMaxAge, d: d} }

// AllowStale says whether a stale value will do. False refuses stale values,
// also those that would hide a failed load; true leaves it to the policy, which
// is the default.
func AllowStale(allow bool) Option { return Option{kind: optAllowStale, on: allow} }

// Tags adds tags of the handle's tenant to what this call loads or sets. The
// slice is not kept. A tag that is empty, longer than invalidate.MaxTagLen or not UTF-8 is
// an error. No tags at all are none.
func Tags(tags ...string) Option { return Option{kind: optTags, tags: tags} }

// SkipLocal leaves this process's tier out: the call neither takes a value from it nor
// keeps one there, and what it shares with other processes goes through the remote tier.
// SoftTimeout then has nothing to serve, and a source that fails is asked by every call.
//
// Calls share a fetch or load only with calls that skip the same tiers. When the call gets
// a newer value than this process holds, the older one is dropped, so that later reads do
// not go back to it. Invalidations count as ever.
func SkipLocal() Option { return Option{kind: optSkipLocal} }

// SkipRemote leaves the remote tier out: the call neither asks it nor stores a value there,
// and claims nothing, so other processes may load the key at the same time. Set removes
// what is stored there. What a load brings leaves it: a later read that asks the remote
// tier may return what is there, which may be older. See [SkipLocal] for what calls share.
//
// A read that skips both tiers shares its load and keeps nothing. Set refuses both, and
// SkipLocal where there is no remote tier: use Delete.
func SkipRemote() Option { return Option{kind: optSkipRemote} }

// callOpts is the sum of a call's options.
type callOpts struct {
	ttl        time.Duration // 0: the policy's
	maxAge     time.Duration // negative: any
	noStale    bool
	anew       bool // only a load that begins after the call will do
	skipLocal  bool
	skipRemote bool
	tags       []string
}

// anyAge are the options of a call without any.
var anyAge = callOpts{maxAge: -1}

// anyHit reports whether any value that this process may serve will do.
func (o *callOpts) anyHit() bool { return o.maxAge < 0 && !o.noStale && !o.anew && !o.skipLocal }

// ofRefresh returns the options of a refresh that the call causes.
func (o *callOpts) ofRefresh() *callOpts {
	return &callOpts{ttl: o.ttl, tags: o.tags, maxAge: -1, skipLocal: o.skipLocal, skipRemote: o.skipRemote}
}

// callKind is a kind of calls that take the same options.
type callKind uint8

const (
	ofRead callKind = iota
	ofSet
)

// collect adds up the options of a call.
func collect(opts []Option, of callKind) (callOpts, error) {
	o := anyAge
	for i := range opts {
		opt := &opts[i]
		if of == ofSet && opt.kind >= optMaxAge {
			return o, opt.misplaced()
		}
		switch opt.kind {
		case optTTL:
			if opt.d < time.Millisecond {
				return o, fmt.Errorf("%w: TTL of %v: want at least 1ms", ErrOption, opt.d)
			}
			o.ttl = opt.d
		case optTags:
			for _, tag := range opt.tags {
				if err := invalidate.Tag(DefaultTenant, tag).Validate(); err != nil {
					return o, fmt.Errorf("%w: Tags: %w", ErrOption, err)
				}
			}
			o.tags = append(o.tags, opt.tags...)
		case optSkipLocal:
			o.skipLocal = true
		case optSkipRemote:
			o.skipRemote = true
		case optMaxAge:
			if opt.d < 0 {
				return o, fmt.Errorf("%w: MaxAge of %v: want 0 or more; leave it out to accept any age", ErrOption, opt.d)
			}
			o.maxAge, o.anew = opt.d, opt.d == 0
		case optAllowStale:
			o.noStale = !opt.on
		}
	}
	if of == ofSet && o.skipLocal && o.skipRemote {
		return o, fmt.Errorf("%w: SkipLocal and SkipRemote together leave Set no tier to keep the value in: use Delete", ErrOption)
	}
	return o, nil
}

// ofSet adds up the options of a Set.
func (c Cache[K, V]) ofSet(opts []Option) (callOpts, error) {
	o, err := collect(opts, ofSet)
	if err == nil && c.s != nil && c.s.far == nil && o.skipLocal {
		err = fmt.Errorf("%w: SkipLocal leaves Set no tier to keep the value in, as the cache has no remote tier: leave it out, or use Delete", ErrOption)
	}
	return o, err
}

// misplaced returns the error of an option that says what a read accepts, given to Set.
func (opt *Option) misplaced() error {
	name := "MaxAge"
	if opt.kind == optAllowStale {
		name = "AllowStale"
	}
	return fmt.Errorf("%w: %s says what a read accepts and has no meaning for Set, which takes TTL, Tags, SkipLocal and SkipRemote: "+
		"pass %s to Fetch, GetOrLoad or GetMany", ErrOption, name, name)
}
