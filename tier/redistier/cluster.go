package redistier

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/rediserr"
)

// sender queues or sends the command for the i-th key of a batch.
type sender func(c redis.Cmdable, i int) redis.Cmder

// group is the part of a batch that goes to one node.
type group struct {
	node redis.Cmdable
	at   []int // indexes in the batch
}

// pipeline sends one command for each key, in one pipeline per node. It returns the commands in the
// order of keys, each with its answer or error.
//
// It does not use the pipeline of the cluster client, for two reasons. That pipeline parses
// replies on its own goroutines, where a panic at a garbage reply ends the process. And when one
// node hangs until the deadline, it marks the answers of the other nodes as failed, too.
func (t *Tier) pipeline(ctx context.Context, keys []string, send sender) []redis.Cmder {
	cmds := make([]redis.Cmder, len(keys))
	groups := t.groups(ctx, keys, cmds)
	if len(groups) == 1 {
		t.exec(ctx, groups[0], send, cmds)
	} else {
		var wg sync.WaitGroup
		for _, g := range groups {
			wg.Go(func() { t.exec(ctx, g, send, cmds) })
		}
		wg.Wait()
	}
	if t.cluster != nil {
		t.redirect(ctx, send, cmds)
	}
	return cmds
}

// groups groups keys by node. A key whose node cannot be found gets a failed command.
func (t *Tier) groups(ctx context.Context, keys []string, cmds []redis.Cmder) []*group {
	if t.cluster == nil {
		g := &group{node: t.rdb, at: make([]int, len(keys))}
		for i := range keys {
			g.at[i] = i
		}
		return []*group{g}
	}
	var groups []*group
	byNode := map[*redis.Client]*group{}
	for i, key := range keys {
		node, err := t.cluster.MasterForKey(ctx, key)
		if err != nil {
			cmds[i] = failed(ctx, err)
			continue
		}
		g := byNode[node]
		if g == nil {
			g = &group{node: node}
			byNode[node] = g
			groups = append(groups, g)
		}
		g.at = append(g.at, i)
	}
	return groups
}

// exec runs the pipeline of one group. It writes only the group's elements of cmds.
func (t *Tier) exec(ctx context.Context, g *group, send sender, cmds []redis.Cmder) {
	defer failPanicked(ctx, g.at, cmds)
	pipe := g.node.Pipeline()
	for _, i := range g.at {
		cmds[i] = send(pipe, i)
	}
	_, err := pipe.Exec(ctx)
	unsent(ctx, g, err, cmds)
	if err != nil && t.cluster != nil && !rediserr.FromServer(err) {
		t.cluster.ReloadState(ctx) // the node may be gone forever; does not wait
	}
}

// failPanicked is deferred around every use of the client library for a batch; see rescue.
func failPanicked(ctx context.Context, at []int, cmds []redis.Cmder) {
	if p := recover(); p != nil {
		for _, i := range at {
			cmds[i] = failed(ctx, adapter.Panicked(p))
		}
	}
}

// unsent gives the commands of a group the pipeline's error when none of them has an error. The
// client library returns such commands when it could not log in.
func unsent(ctx context.Context, g *group, err error, cmds []redis.Cmder) {
	if err == nil || slices.ContainsFunc(g.at, func(i int) bool { return cmds[i].Err() != nil }) {
		return
	}
	for _, i := range g.at {
		cmds[i] = failed(ctx, err)
	}
}

// redirect repeats the commands that a node refused because it does not own the slot. It sends
// them one by one through the cluster client, which follows the redirection and remembers it.
func (t *Tier) redirect(ctx context.Context, send sender, cmds []redis.Cmder) {
	for i, cmd := range cmds {
		if !isRedirect(cmd.Err()) {
			continue
		}
		func() {
			defer failPanicked(ctx, []int{i}, cmds)
			cmds[i] = send(t.rdb, i)
		}()
	}
}

func isRedirect(err error) bool {
	for _, prefix := range []string{"MOVED ", "ASK ", "TRYAGAIN ", "READONLY "} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// failed returns a command that was not sent and has an error.
func failed(ctx context.Context, err error) redis.Cmder {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
