package redistier

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed claim.lua
var claimSource string

//go:embed fill.lua
var fillSource string

//go:embed release.lua
var releaseSource string

// The scripts are idempotent, or harmless when sent twice, because client libraries may send them
// twice.
var (
	claimScript   = redis.NewScript(claimSource)
	fillScript    = redis.NewScript(fillSource)
	releaseScript = redis.NewScript(releaseSource)

	// For a test only: fill without its compare-and-set.
	storeScript = redis.NewScript("redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1")
)

// invocation is one run of a script on one key. The caller must not change the arguments before
// the call that got them has returned.
type invocation struct {
	script *redis.Script
	args   []any
}

// run runs a script by its digest, or by its text when the server does not know it.
func (t *Tier) run(ctx context.Context, key string, in invocation) (reply any, err error) {
	return in.script.Run(ctx, t.rdb, []string{key}, in.args...).Result()
}

// runMany runs one script for each key, in one round trip per node. When a server does not know a
// script, a second round trip sends the text.
func (t *Tier) runMany(ctx context.Context, keys []string, ins []invocation) []redis.Cmder {
	cmds := t.pipeline(ctx, keys, func(c redis.Cmdable, i int) redis.Cmder {
		return ins[i].script.EvalSha(ctx, c, keys[i:i+1], ins[i].args...)
	})
	var at []int
	var unknown []string
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			at, unknown = append(at, i), append(unknown, keys[i])
		}
	}
	if len(at) == 0 {
		return cmds
	}
	again := t.pipeline(ctx, unknown, func(c redis.Cmdable, i int) redis.Cmder {
		in := ins[at[i]]
		return in.script.Eval(ctx, c, unknown[i:i+1], in.args...)
	})
	for i, cmd := range again {
		cmds[at[i]] = cmd
	}
	return cmds
}

// result returns the reply of a command that runMany returned.
func result(cmd redis.Cmder) (any, error) {
	if err := cmd.Err(); err != nil {
		return nil, err
	}
	c, ok := cmd.(*redis.Cmd)
	if !ok {
		return nil, ErrReply
	}
	return c.Val(), nil
}
