package redistier

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed claim.lua
var claimSource string

//go:embed fill.lua
var fillSource string

//go:embed release.lua
var releaseSource string

//go:embed each.lua
var eachSource string

// The scripts are idempotent, or harmless when sent twice, because client libraries may send them
// twice.
var (
	claimScript   = redis.NewScript(claimSource + eachSource)
	fillScript    = redis.NewScript(fillSource + eachSource)
	releaseScript = redis.NewScript(releaseSource + eachSource)

	// For a test only: fill without its compare-and-set.
	storeScript = redis.NewScript("local function over(key, _, cell, ttl) redis.call('SET', key, cell, 'PX', ttl) return 1 end\n" + eachSource)
)

// A script blocks the server while it runs, and is one message with all its cells. Therefore a run
// has limits. A cell of over runBytes has a run of its own.
const (
	runKeys  = 128
	runBytes = 1 << 20
)

// invocation is what a script does with one key. The caller must not change the arguments
// before the call that got them has returned.
type invocation struct {
	script *redis.Script
	args   []any
	bytes  int // of the cell
}

// answer is the reply of a script about one key.
type answer struct {
	reply any
	err   error
}

// run runs a script by its digest, or by its text when the server does not know it.
func (t *Tier) run(ctx context.Context, key string, in invocation) (reply any, err error) {
	return in.script.Run(ctx, t.rdb, []string{key}, in.args...).Result()
}

// joint is one run of a script for several keys of a batch.
type joint struct {
	script *redis.Script
	at     []int // indexes in the batch
	keys   []string
	args   []any
	bytes  int
}

// join puts a batch into few runs. On a Cluster each key has a run of its own, because the keys of
// a run must share a slot.
func (t *Tier) join(keys []string, ins []invocation) []*joint {
	var runs []*joint
	last := map[*redis.Script]*joint{}
	for i, in := range ins {
		j := last[in.script]
		if j == nil || t.cluster != nil || len(j.at) == runKeys || j.bytes+in.bytes > runBytes {
			j = &joint{script: in.script}
			runs, last[in.script] = append(runs, j), j
		}
		j.at, j.keys, j.args = append(j.at, i), append(j.keys, keys[i]), append(j.args, in.args...)
		j.bytes += in.bytes
	}
	return runs
}

// runMany runs a script for each key, in one round trip per node. When a server does not know a
// script, a second round trip sends the text.
func (t *Tier) runMany(ctx context.Context, keys []string, ins []invocation) []answer {
	runs := t.join(keys, ins)
	cmds := t.sendRuns(ctx, runs, (*redis.Script).EvalSha)
	var at []int
	var unknown []*joint
	for i, cmd := range cmds {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			at, unknown = append(at, i), append(unknown, runs[i])
		}
	}
	if len(at) > 0 {
		for i, cmd := range t.sendRuns(ctx, unknown, (*redis.Script).Eval) {
			cmds[at[i]] = cmd
		}
	}
	out := make([]answer, len(keys))
	for i, j := range runs {
		j.spread(cmds[i], out)
	}
	return out
}

func (t *Tier) sendRuns(ctx context.Context, runs []*joint, send func(*redis.Script, context.Context, redis.Scripter, []string, ...any) *redis.Cmd) []redis.Cmder {
	firsts := make([]string, len(runs)) // on a Cluster a run has no others
	for i, j := range runs {
		firsts[i] = j.keys[0]
	}
	return t.pipeline(ctx, firsts, func(c redis.Cmdable, i int) redis.Cmder {
		return send(runs[i].script, ctx, c, runs[i].keys, runs[i].args...)
	})
}

// spread gives each key its part of the run's reply. A failed run is the failure of each.
func (j *joint) spread(cmd redis.Cmder, out []answer) {
	reply, err := result(cmd)
	parts, ok := reply.([]any)
	switch {
	case err != nil || len(j.at) == 1:
	case !ok || len(parts) != len(j.at):
		err = fmt.Errorf("%w: a %T for %d keys", ErrReply, reply, len(j.at))
	default:
		for k, i := range j.at {
			if out[i].reply = parts[k]; parts[k] == nil {
				out[i].err = redis.Nil
			} else if e, bad := parts[k].(error); bad {
				out[i] = answer{err: e}
			}
		}
		return
	}
	for _, i := range j.at {
		out[i] = answer{reply, err}
	}
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
