package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
)

// Option changes one call. It is a plain value, so a call without options allocates nothing. The
// zero Option does nothing. If a call gets two of a kind, the last one counts; tags and tickets add up. If a
// call does not take an option, or its value is out of range, the call fails with [ErrOption].
//
//	                     TTL  Tags  With  SkipLocal  SkipRemote  MaxAge  Fresh  AtLeast
//	Fetch, GetOrLoad      x   own    x        x          x         x       x       x
//	GetMany               x          x        x          x         x       x       x
//	Set                   x    x     x        x          x
//
// "own" means a call that brings its own loader.
type Option struct {
	kind   optionKind
	d      time.Duration
	tags   []string
	ticket string
	with   *resident.Override
}

type optionKind uint8

const (
	optTTL optionKind = iota + 1
	optTags
	optWith
	optSkipLocal
	optSkipRemote
	optMaxAge // from here on: what a read accepts
	optFresh
	optAtLeast
)

// TTL replaces the policy's TTL for the value that this call loads or sets. The policy's jitter
// still applies. d must be 1 ms or more.
func TTL(d time.Duration) Option { return Option{kind: optTTL, d: d} }

// MaxAge accepts only a value whose load began at most d ago. An older value is loaded again.
// Zero accepts only a load that begins after the call. A negative d is an error.
func MaxAge(d time.Duration) Option { return Option{kind: optMaxAge, d: d} }

// Fresh refuses stale values, even in place of a failed load. A value that was just loaded from a
// stale part is still returned, with Stale set. Without Fresh, the policy says which stale values
// are served.
func Fresh() Option { return Option{kind: optFresh} }

// Tags adds tags of the handle's tenant to the value that this call sets, or loads by its own
// loader. A read without its own loader refuses Tags: the value may have been loaded by a Get, a
// refresh or another process, which do not know these tags. Use Config.Tags, or [Depend] in the
// loader; they count for every load. The slice is not kept. A tag that is empty, longer than
// invalidate.MaxTagLen or not UTF-8 is an error. Tags without arguments adds nothing.
func Tags(tags ...string) Option { return Option{kind: optTags, tags: tags} }

// SkipLocal excludes the local tier. The call neither takes a value from it nor keeps one there.
// It shares values with other processes through the remote tier. There is then no old
// value for SoftTimeout or Throttle to serve: while the source fails, every call loads.
//
// Calls share a fetch or load only with calls that skip the same tiers. If the call gets a newer
// value than this process holds, the process drops the older one, because later reads must not
// return it. Invalidations count as usual.
func SkipLocal() Option { return Option{kind: optSkipLocal} }

// SkipRemote excludes the remote tier. The call neither asks it nor stores a value there. It
// claims nothing, so other processes may load the key at the same time. A local value whose
// LocalTTL has passed is loaded again, because only the remote tier could confirm it. Set removes
// the cell of the remote tier. A load leaves the cell there: a later read that asks the remote
// tier may return an older value. See [SkipLocal] for what calls share.
//
// A read that skips both tiers shares its load and keeps nothing. Set refuses both together. It
// also refuses SkipLocal without a remote tier. Use Delete instead.
func SkipRemote() Option { return Option{kind: optSkipRemote} }

// takesHit reports whether a read with these options takes any value that this process may serve, and needs
// no loader for that: an audit and an early refresh need the call's loader. It is for options that need no check.
func takesHit(v *resident.View, opts []Option) bool {
	for i := range opts {
		if k := opts[i].kind; k != 0 && k != optSkipRemote {
			return false
		}
	}
	p := v.Policy()
	return p.Audit == 0 && p.RefreshAhead == 0 && !v.Core.Work.Closed()
}

// callKind groups the calls that take the same options.
type callKind uint8

const (
	ofRead callKind = iota // by the cache's own loader
	ofLoad                 // by the call's loader
	ofSet
)

// collect returns what the options of a call say. It may wait for the log. v is nil for the zero Cache.
func collect(ctx context.Context, v *resident.View, opts []Option, of callKind) (resident.Options, error) {
	o, behind := resident.AnyAge, false
	var err error
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
			o.TTL = opt.d
		case optTags:
			for _, tag := range opt.tags {
				if err := invalidate.Tag(DefaultTenant, tag).Validate(); err != nil {
					return o, fmt.Errorf("%w: Tags: %w", ErrOption, err)
				}
			}
			if of == ofRead && len(opt.tags) > 0 {
				return o, errTagsOfRead
			}
			o.Tags = append(o.Tags, opt.tags...)
		case optWith:
			if v == nil {
				continue // the call fails anyway
			}
			if o.Policy, err = opt.with.Over(v); err != nil {
				return o, fmt.Errorf("%w: With: %w", ErrOption, err)
			}
		case optSkipLocal:
			o.Skip |= resident.SkipLocal
		case optSkipRemote:
			o.Skip |= resident.SkipRemote
		case optMaxAge:
			if opt.d < 0 {
				return o, fmt.Errorf("%w: MaxAge of %v: want 0 or more; leave it out to accept any age", ErrOption, opt.d)
			}
			o.MaxAge, o.Anew = opt.d, opt.d == 0
		case optFresh:
			o.NoStale = true
		case optAtLeast:
			at, err := parseTicket(opt.ticket)
			if err != nil {
				return o, err
			}
			behind = behind || opt.ticket != "" && v != nil && !v.Core.Reaches(ctx, at)
		}
	}
	if behind {
		o.MaxAge, o.Anew = 0, true
	}
	if of == ofSet && o.Skip == resident.SkipLocal|resident.SkipRemote {
		return o, fmt.Errorf("%w: SkipLocal and SkipRemote together leave Set no tier to keep the value in: use Delete", ErrOption)
	}
	return o, nil
}

var errTagsOfRead = fmt.Errorf("%w: Tags on a read without its own loader would tag only what this call loads, "+
	"and not what another Get, a refresh or another process loads: set Config.Tags, or call Depend in the loader", ErrOption)

// ofLoader returns the kind of a read that brings load.
func ofLoader[K comparable, V any](load Loader[K, V]) callKind {
	if load == nil {
		return ofRead
	}
	return ofLoad
}

// collectSet is collect for a call that sets values.
func collectSet(ctx context.Context, v *resident.View, opts []Option) (resident.Options, error) {
	o, err := collect(ctx, v, opts, ofSet)
	if err == nil && v != nil && v.Far == nil && o.Skip&resident.SkipLocal != 0 {
		err = fmt.Errorf("%w: SkipLocal leaves Set no tier to keep the value in, as the cache has no remote tier: leave it out, or use Delete", ErrOption)
	}
	return o, err
}

// misplaced returns the error for a read option that was given to Set.
func (opt *Option) misplaced() error {
	name := map[optionKind]string{optMaxAge: "MaxAge", optFresh: "Fresh", optAtLeast: "AtLeast"}[opt.kind]
	return fmt.Errorf("%w: %s says what a read accepts and has no meaning for Set, which takes TTL, Tags, With, SkipLocal and SkipRemote: "+
		"pass %s to Fetch, GetOrLoad or GetMany", ErrOption, name, name)
}
