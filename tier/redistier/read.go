package redistier

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/rediserr"
	"github.com/twofold-go/twofold/tier"
)

// Get reads frames. The caller owns them. One key is one GET. While several reads of a single server are
// running, later reads of one key gather and leave together in one MGET. A caller whose ctx ends does not wait
// for the others. Many keys are one MGET, or on a Cluster one pipeline of GETs per node, at the same
// time. A node that hangs delays and fails only its own keys.
//
// For a key that holds another Redis type than a string, GET returns an error, and MGET returns
// nil. In the second case the claim fails.
func (t *Tier) Get(ctx context.Context, keys []string, frames [][]byte) (err error) {
	if err := t.ready(ctx, "get"); err != nil || len(keys) == 0 {
		return err
	}
	if len(keys) > 1 {
		return t.getMany(ctx, keys, frames)
	}
	frames[0], err = t.getOne(ctx, t.prefix+keys[0])
	return err
}

func (t *Tier) getOne(ctx context.Context, name string) ([]byte, error) {
	if in, i := t.enter(ctx, name); in != nil {
		return in.wait(ctx, i)
	}
	defer t.leave()
	return t.get(ctx, name)
}

// enter makes the caller's read part of a batch, as its i-th read, or returns no batch. Then the
// caller reads by itself, and must call leave.
func (t *Tier) enter(ctx context.Context, name string) (in *batch, i int) {
	if t.cluster != nil {
		return nil, 0
	}
	in, i, leaves := t.merger.enter(ctx, name)
	if leaves {
		go t.drive(in)
	}
	return in, i
}

func (t *Tier) leave() {
	if t.cluster != nil {
		return
	}
	if next := t.merger.leave(); next != nil {
		go t.drive(next)
	}
}

// lookAt makes a claim with Look. While enough reads are running it is a GET, and grants nothing. Otherwise
// it is one SET with NX and GET, which stores the lease only if there is no frame. Servers before Redis 7.0 do
// not know that, and get a GET. A server that refuses to write, for example because its memory is full, gets
// one too.
func (t *Tier) lookAt(ctx context.Context, name string, c *tier.Claim) (got tier.Claimed, err error) {
	if in, i := t.enter(ctx, name); in != nil {
		got.Cell, err = in.wait(ctx, i)
		return got, err
	}
	defer t.leave()
	return t.look(ctx, name, c)
}

func (t *Tier) look(ctx context.Context, name string, c *tier.Claim) (got tier.Claimed, err error) {
	defer rescue("look", &err)
	if !t.plain.Load() {
		lease := redis.SetArgs{Mode: "NX", Get: true, TTL: time.Duration(lifetimes.Millis(c.Lease)) * time.Millisecond}
		cmd := t.rdb.SetArgs(ctx, name, tier.LeaseCell(c.Nonce), lease)
		switch err := cmd.Err(); {
		case err == nil:
			return tier.Claimed{Cell: bytesOf(cmd.Val())}, nil
		case errors.Is(err, redis.Nil):
			return tier.Claimed{Granted: true}, nil
		case !rediserr.FromServer(err):
			return got, t.fail("look", err)
		case redis.HasErrorPrefix(err, "syntax error"):
			t.plain.Store(true)
		}
	}
	got.Cell, err = t.get(ctx, name)
	return got, err
}

// bytesOf returns the bytes of a reply, to which nothing else refers, as StringCmd.Bytes does.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) } //nolint:gosec // see above

func (t *Tier) get(ctx context.Context, key string) (frame []byte, err error) {
	defer rescue("get", &err)
	return t.frameOf("get", t.rdb.Get(ctx, key))
}

// frameOf returns the frame in the reply to a GET. It does not copy the reply's bytes.
func (t *Tier) frameOf(op string, cmd redis.Cmder) ([]byte, error) {
	if err := cmd.Err(); err != nil {
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return nil, t.fail(op, err)
	}
	s, ok := cmd.(*redis.StringCmd)
	if !ok {
		return nil, fail(op, ErrReply)
	}
	frame, err := s.Bytes()
	return frame, fail(op, err)
}

func (t *Tier) getMany(ctx context.Context, keys []string, frames [][]byte) error {
	full := t.cellKeys(keys)
	if t.cluster == nil {
		return t.mget(ctx, full, frames)
	}
	cmds := t.pipeline(ctx, full, func(c redis.Cmdable, i int) redis.Cmder { return c.Get(ctx, full[i]) })
	var errs joined
	for i, cmd := range cmds {
		var err error
		frames[i], err = t.frameOf("get", cmd)
		errs.add(err)
	}
	return errs.err()
}

// mget reads keys by one MGET. The frames are the reply's own bytes, which nothing else refers to.
func (t *Tier) mget(ctx context.Context, keys []string, frames [][]byte) (err error) {
	const op = "get"
	defer rescue(op, &err)
	vals, err := t.rdb.MGet(ctx, keys...).Result()
	if err != nil {
		return t.fail(op, err)
	}
	if len(vals) != len(keys) {
		return fail(op, fmt.Errorf("%w: %d values for %d keys", ErrReply, len(vals), len(keys)))
	}
	var errs joined
	for i, v := range vals {
		switch v := v.(type) {
		case nil:
		case string:
			frames[i] = bytesOf(v)
		default:
			errs.add(fail(op, fmt.Errorf("%w: a %T for a value", ErrReply, v)))
		}
	}
	return errs.err()
}

// Remove removes the cells of keys, by one UNLINK, or on a Cluster by one pipeline per node.
// After an error some cells may still be there. On a Cluster the error wraps a [tier.KeysError]
// that names their keys.
func (t *Tier) Remove(ctx context.Context, keys []string) (err error) {
	if err := t.ready(ctx, "remove"); err != nil || len(keys) == 0 {
		return err
	}
	full := t.cellKeys(keys)
	if t.cluster == nil || len(full) == 1 {
		defer rescue("remove", &err)
		return t.fail("remove", t.rdb.Unlink(ctx, full...).Err())
	}
	var failed []string
	var errs joined
	for i, cmd := range t.pipeline(ctx, full, func(c redis.Cmdable, i int) redis.Cmder { return c.Unlink(ctx, full[i]) }) {
		if err := cmd.Err(); err != nil {
			failed = append(failed, keys[i])
			errs.add(t.fail("remove", err))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &tier.KeysError{Keys: failed, Err: errs.err()}
}

func (t *Tier) cellKeys(keys []string) []string {
	full := make([]string, len(keys))
	for i, key := range keys {
		full[i] = t.prefix + key
	}
	return full
}

// joined collects errors, each text once: when a node is down, all of its keys fail with the same
// text.
type joined struct {
	errs []error
	seen map[string]bool
}

func (j *joined) add(err error) {
	if err == nil || j.seen[err.Error()] {
		return
	}
	if j.seen == nil {
		j.seen = map[string]bool{}
	}
	j.seen[err.Error()] = true
	j.errs = append(j.errs, err)
}

func (j *joined) err() error { return errors.Join(j.errs...) }
