package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/policy"
)

// Value is the cached value: which version of which key.
type Value struct {
	Key     string
	Version int64
	Asked   int64 // when the load began, if it was for an audit; no such value is stored
}

// cacheConfig enables every feature that may serve a value that is not fresh. None of them may
// serve an invalidated value. Even workers load in batches.
func (w *worker) cacheConfig(level int, name string) cache.Config[string, Value] {
	cfg := cache.Config[string, Value]{
		Namespace: name,
		Policy: policy.Patch{
			Stale:        new(30 * time.Second),
			StaleIfError: new(30 * time.Second),
			SoftTimeout:  new(200 * time.Millisecond),
			RefreshAhead: new(1.0),
			Audit:        new(1.0),
		},
		Equal: w.comparing(level),
	}
	loadMany := w.loadMany
	if level > 0 { // the tags are inherited
		loadMany = w.builder(level)
	} else {
		cfg.Tags = func(k string, _ Value) []string {
			i, _ := number(k)
			return []string{w.keys.tag(i), "all"}
		}
	}
	loadMany = asked(loadMany)
	cfg.Load = func(ctx context.Context, k string) (Value, error) {
		m, err := loadMany(ctx, []string{k})
		return m[k], err
	}
	if w.cfg.Proc%2 == 0 {
		cfg.LoadMany = loadMany
	}
	return cfg
}

// builder returns the loader of a level above the first. It reads cached values of the level below
// and returns them as its own, so a version means the same on every level. Like any loader it
// may be slow while it holds old values.
func (w *worker) builder(level int) manyLoader {
	return func(ctx context.Context, ks []string) (map[string]Value, error) {
		below := w.levels[level-1]
		w.loads.Add(int64(len(ks)))
		defer w.linger()
		if len(ks) > 1 {
			return below.GetMany(ctx, ks)
		}
		v, err := below.Get(ctx, ks[0])
		if err != nil {
			return nil, err
		}
		return map[string]Value{ks[0]: v}, nil
	}
}

// loadMany reads the source first, and sometimes sleeps afterwards while its value grows old. It
// ignores its context meanwhile, as many loaders do.
func (w *worker) loadMany(ctx context.Context, ks []string) (map[string]Value, error) {
	var got map[int]int64
	var err error
	keys := make([]int, len(ks))
	for i, k := range ks {
		n, ok := number(k)
		if !ok {
			return nil, errors.New("source: the key of another namespace")
		}
		keys[i] = n
	}
	if w.db != nil {
		got, err = w.db.versions(ctx, keys)
	} else {
		got, err = w.versions(ctx, keys)
	}
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	w.loads.Add(int64(len(ks)))
	m := make(map[string]Value, len(ks))
	for i, k := range ks {
		m[k] = Value{Key: k, Version: got[keys[i]]}
	}
	w.linger()
	return m, nil
}

// versions reads the source in Redis.
func (w *worker) versions(ctx context.Context, keys []int) (map[int]int64, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = sourceKey(Name(k))
	}
	got, err := w.source.MGet(ctx, names...).Result()
	if err != nil {
		return nil, err
	}
	m := make(map[int]int64, len(keys))
	for i, k := range keys {
		if s, ok := got[i].(string); ok {
			if m[k], err = strconv.ParseInt(s, 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// linger sometimes sleeps at the end of a load.
func (w *worker) linger() {
	if rand.Float64() < w.cfg.SlowLoads {
		w.slow.Add(1)
		time.Sleep(300*time.Millisecond + rand.N(1500*time.Millisecond))
	}
}

func sourceKey(name string) string { return "version:" + name }

// raise writes a new version of each key to the source.
func (w *worker) raise(ctx context.Context, keys []int) ([]int64, error) {
	cmds := make([]*redis.IntCmd, len(keys))
	_, err := w.source.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			cmds[i] = p.Incr(ctx, sourceKey(Name(k)))
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(errors.New("source"), err)
	}
	versions := make([]int64, len(keys))
	for i, c := range cmds {
		versions[i] = c.Val()
	}
	return versions, nil
}

type manyLoader = func(context.Context, []string) (map[string]Value, error)

// asked marks the values of an audit's load.
func asked(load manyLoader) manyLoader {
	return func(ctx context.Context, ks []string) (map[string]Value, error) {
		if !cache.Filling(ctx).Auditing() {
			return load(ctx, ks)
		}
		at := proc.Now()
		m, err := load(ctx, ks)
		for k, v := range m {
			v.Asked = at
			m[k] = v
		}
		return m, err
	}
}

// comparing returns Config.Equal. An audit compares its two loads last, and calls the hit stale if
// they are equal. The alarm is recorded here, and not by OnStale, because OnStale has no value.
func (w *worker) comparing(level int) func(a, b Value) bool {
	return func(a, b Value) bool {
		same := a.Key == b.Key && a.Version == b.Version
		if i, ok := number(a.Key); ok && same && a.Asked > 0 && b.Asked > 0 {
			w.events.Add(history.Event{
				Type: history.Alarm, Level: uint8(level), Key: uint16(i), Version: a.Version, Start: a.Asked, End: proc.Now(),
			})
		}
		return same
	}
}
