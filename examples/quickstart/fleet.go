package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// fleet is what all processes share: the remote tier, and the log of what was
// invalidated.
type fleet struct {
	name   string
	bound  time.Duration
	remote tier.Remote
	log    func() invalidate.Log // a new one for each process: its Tiers close it
	done   func()
}

// newFleet returns a fleet on the Redis at url, or in memory if there is none.
func newFleet(ctx context.Context, url string, bound time.Duration) (*fleet, error) {
	if url != "" {
		return redisFleet(ctx, url, bound)
	}
	log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
	return &fleet{
		name:   "a remote tier in memory",
		bound:  bound,
		remote: tiertest.NewMemory(),
		log:    func() invalidate.Log { return log },
		done:   func() {},
	}, nil
}

func redisFleet(ctx context.Context, url string, bound time.Duration) (*fleet, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	rdb := redis.NewClient(redistier.Options(o))
	// A prefix of its own for each run, so that the first read is a cold one.
	prefix := fmt.Sprintf("quickstart-%x", tier.NewNonce())
	f := &fleet{
		name:   "Redis at " + o.Addr,
		bound:  bound,
		remote: redistier.New(rdb, redistier.Config{Prefix: prefix}),
		log: func() invalidate.Log {
			return redislog.New(rdb, redislog.Config{Prefix: prefix, Bound: bound})
		},
		done: func() { _ = errors.Join(forget(ctx, rdb, prefix), rdb.Close()) },
	}
	if err := answers(ctx, f.log()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Addr, err), rdb.Close())
	}
	return f, nil
}

// answers asks a log once, and closes it. No Tiers would fail for want of a log
// that answers: they would do without copies, and the story would make no sense.
func answers(ctx context.Context, log invalidate.Log) error {
	_, err := log.Sync(ctx, invalidate.Cursor{}, invalidate.Append{})
	if c, ok := log.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// forget removes the log of a run from Redis: unlike the values in the remote
// tier, it has no end of its own.
func forget(ctx context.Context, rdb *redis.Client, prefix string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	log := "{" + prefix + "}:"
	return rdb.Del(ctx, log+"m", log+"k", log+"s").Err()
}
