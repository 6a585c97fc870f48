package main

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// fleet is what the processes share: a remote tier and a log of invalidations.
type fleet struct {
	name   string
	bound  time.Duration
	remote tier.Remote
	log    func() invalidate.Log // called once for each process; the Tiers of the process close it
	close  func()
}

func newFleet(ctx context.Context, url string, bound time.Duration) (*fleet, error) {
	if url == "" {
		log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
		return &fleet{"a remote tier in memory", bound, tiertest.NewMemory(), func() invalidate.Log { return log }, func() {}}, nil
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	rdb := redis.NewClient(redistier.Options(o))
	if err := rdb.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Addr, err), rdb.Close())
	}
	prefix := fmt.Sprintf("quickstart-%x", tier.NewNonce()) // a new prefix, so that the first read is cold
	return &fleet{
		name:   "the Redis at " + o.Addr,
		bound:  bound,
		remote: redistier.New(rdb, redistier.Config{Prefix: prefix}),
		log:    func() invalidate.Log { return redislog.New(rdb, redislog.Config{Prefix: prefix, Bound: bound}) },
		close: func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			log := "{" + prefix + "}:" // keys of the log do not expire
			_ = errors.Join(rdb.Del(ctx, log+"m", log+"k", log+"s").Err(), rdb.Close())
		},
	}, nil
}

// process opens the tiers and the cache of one process. Long timeouts allow for slow machines.
func (f *fleet) process(log invalidate.Log, load func(context.Context, string) (Package, error)) (*cache.Tiers, cache.Cache[string, Package], error) {
	tiers, err := cache.Open(cache.TiersConfig{
		Remote:   f.remote,
		Log:      log,
		ClaimTTL: time.Minute,
		Policies: policy.Table{{Patch: policy.Patch{RemoteTimeout: new(10 * time.Second)}}},
		Logger:   slog.New(slog.DiscardHandler), // it would warn about the link that the program cuts
	})
	if err != nil {
		return nil, cache.Cache[string, Package]{}, err
	}
	cfg := cache.For("packages:v1", load)
	cfg.Tags = tags
	cfg.Policy = policy.Patch{TTL: new(10 * time.Minute), Stale: new(time.Hour), StaleIfError: new(time.Hour)}
	packages, err := cache.New(tiers, cfg)
	return tiers, packages, err
}

// Package is a package of the standard library: the cached value.
type Package struct {
	Name    string
	Doc     string // the first sentence
	Imports []string
	Load    int64 // the number of the load that returned it
}

type index struct {
	src    string
	paths  []string // the packages directly below src
	loads  atomic.Int64
	broken atomic.Bool
}

func newIndex(src string) (*index, error) {
	entries, err := os.ReadDir(src)
	x := &index{src: src}
	for _, e := range entries {
		if _, err := build.ImportDir(filepath.Join(src, e.Name()), 0); err == nil {
			x.paths = append(x.paths, e.Name())
		}
	}
	if err == nil && len(x.paths) < 3 {
		err = fmt.Errorf("%s has %d packages, want at least 3", src, len(x.paths))
	}
	return x, err
}

func (x *index) load(_ context.Context, path string) (Package, error) {
	p := Package{Load: x.loads.Add(1)}
	if x.broken.Load() {
		return p, errors.New("the disk is on fire (not really)")
	}
	dir := filepath.Join(x.src, filepath.FromSlash(path))
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("package %s: %w", path, cache.ErrNotFound) // absence is an answer, and is cached too
	}
	b, err := build.ImportDir(dir, 0)
	if err != nil {
		return p, err
	}
	p.Name, p.Doc, p.Imports = b.Name, b.Doc, b.Imports
	return p, nil
}

func tags(path string, _ Package) []string {
	top, _, _ := strings.Cut(path, "/")
	return []string{"tree:" + top}
}
