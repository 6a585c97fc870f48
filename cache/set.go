package cache

import (
	"context"

	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/resident"
)

// Set invalidates k and stores v in both tiers. When it returns, reads in this process see v,
// and no load that began earlier can bring back an older value. An invalidation that comes while
// Set runs may win: then neither tier keeps v, and the next read loads. If two processes Set one
// key at the same time, they race, and the tiers may keep either value. If that matters, write
// to the source and [Cache.Delete].
//
// Set returns an error if v cannot be stored: it does not encode, is over the policy's
// MaxValueBytes, or has an invalid tag. Without a remote tier its size in memory counts. It also
// returns an error if the remote tier cannot be reached. In both cases the old value is still
// invalidated in this process, even if ctx has ended. With the policy's Off, Set only invalidates.
// If there is only a local tier and it has no room for the value, the error is [ErrTooLarge].
func (c Cache[K, V]) Set(ctx context.Context, k K, v V, opts ...Option) error {
	o, err := collectSet(ctx, c.v, opts)
	if err != nil {
		return c.fail("set", k, fault.WrongUse(err))
	}
	var s engine.Setting
	if err := c.start(ctx, &s, "set", k, v, &o); err != nil {
		return err
	}
	if !s.Alone(ctx) {
		all := []engine.Setting{s}
		engine.SetAll(ctx, all)
		s = all[0]
	}
	return s.Result()
}

// start prepares a setting, which is zero. An error means that it must not be used; one in s.err
// concerns only the value.
func (c Cache[K, V]) start(ctx context.Context, s *engine.Setting, op string, k K, v V, o *resident.Options) error {
	if err := c.changes(&s.Job, op, k, o); err != nil {
		return err
	}
	e := blank[K, V](c.v, k)
	itemOf[K, V](e).val = v
	s.Prepare(ctx, e)
	return nil
}
