package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/redistier"
)

// page is a value of about a kilobyte in JSON.
type page struct {
	ID    int64             `json:"id"`
	Title string            `json:"title"`
	Body  string            `json:"body"`
	Meta  map[string]string `json:"meta"`
	Tags  []string          `json:"tags"`
}

func pageOf(id int64) page {
	return page{
		ID: id, Title: fmt.Sprint("Page number ", id), Body: strings.Repeat("All work and no play. ", 36),
		Meta: map[string]string{"lang": "en", "author": "jack", "section": "hotel"},
		Tags: []string{"one", "two", "three"},
	}
}

// nothing is a local tier that keeps nothing. Every read goes to Redis.
type nothing struct{ *local.Tier }

func (nothing) Get(uint64) (any, bool)      { return nil, false }
func (nothing) Set(uint64, any, int64) bool { return false }

func remoteBench(b *testing.B) (cache.Cache[int64, page], *redis.Client) {
	b.Helper()
	rdb := redistest.Start(b).Client()
	t := openBench(b, cache.TiersConfig{
		Local:  nothing{local.New(local.Config{})},
		Remote: redistier.New(rdb, redistier.Config{Prefix: redistest.Prefix()}),
	})
	c := newBench(b, t, func(_ context.Context, id int64) (page, error) { return pageOf(id), nil })
	return c, rdb
}

func BenchmarkRemoteHit(b *testing.B) {
	const n = 1000
	b.Run("twofold", func(b *testing.B) {
		c, _ := remoteBench(b)
		for i := range int64(n) {
			_, _ = c.Get(b.Context(), i)
		}
		s := sampler{every: 1}
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			s.run(func() {
				if r, err := c.Fetch(b.Context(), i%n, nil); err != nil || r.Source != cache.Remote {
					b.Fatal(r.Source, err)
				}
			})
		}
		percentiles(b, s.times)
	})
	b.Run("floor", func(b *testing.B) {
		rdb := redistest.Start(b).Client()
		prefix := redistest.Prefix()
		for i := range int64(n) {
			v, _ := json.Marshal(pageOf(i))
			rdb.Set(b.Context(), fmt.Sprint(prefix, i), v, 0)
		}
		s := sampler{every: 1}
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			s.run(func() {
				raw, err := rdb.Get(b.Context(), fmt.Sprint(prefix, i%n)).Bytes()
				var v page
				if err == nil {
					err = json.Unmarshal(raw, &v)
				}
				if err != nil {
					b.Fatal(err)
				}
			})
		}
		percentiles(b, s.times)
	})
}

func BenchmarkGetMany100(b *testing.B) {
	const n = 100
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	b.Run("twofold", func(b *testing.B) {
		c, _ := remoteBench(b)
		_, _ = c.GetMany(b.Context(), ids)
		s := sampler{every: 1}
		b.ReportAllocs()
		for b.Loop() {
			s.run(func() {
				if m, err := c.GetMany(b.Context(), ids); len(m) != n || err != nil {
					b.Fatal(len(m), err)
				}
			})
		}
		percentiles(b, s.times)
	})
	b.Run("floor", func(b *testing.B) {
		rdb := redistest.Start(b).Client()
		prefix := redistest.Prefix()
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprint(prefix, i)
			v, _ := json.Marshal(pageOf(int64(i)))
			rdb.Set(b.Context(), keys[i], v, 0)
		}
		s := sampler{every: 1}
		b.ReportAllocs()
		for b.Loop() {
			s.run(func() {
				raws, err := rdb.MGet(b.Context(), keys...).Result()
				if err != nil {
					b.Fatal(err)
				}
				m := make(map[int64]page, n)
				for i, raw := range raws {
					var v page
					if err := json.Unmarshal([]byte(raw.(string)), &v); err != nil {
						b.Fatal(err)
					}
					m[int64(i)] = v
				}
			})
		}
		percentiles(b, s.times)
	})
}

// BenchmarkInvalidate measures one caller while two other processes listen. Its floor is a plain
// round trip to the same server.
func BenchmarkInvalidate(b *testing.B) {
	rdb := redistest.Start(b).Client()
	prefix := redistest.Prefix()
	open := func() *cache.Tiers {
		return openBench(b, cache.TiersConfig{
			Remote: redistier.New(rdb, redistier.Config{Prefix: prefix}),
			Log:    redislog.New(rdb, redislog.Config{Prefix: prefix}),
		})
	}
	t := open()
	open()
	open()
	for name, scope := range map[string]func(i int) invalidate.Scope{
		"tag":    func(i int) invalidate.Scope { return invalidate.Tag("default", fmt.Sprint(i%1000)) },
		"prefix": func(i int) invalidate.Scope { return invalidate.Prefix("default", fmt.Sprint("users:", i%1000)) },
	} {
		b.Run(name, func(b *testing.B) {
			measure(b, func(i int) error { return t.Invalidate(b.Context(), scope(i)) })
		})
	}
	c := newBench(b, t, func(_ context.Context, id int64) (page, error) { return pageOf(id), nil })
	b.Run("key", func(b *testing.B) {
		measure(b, func(i int) error { return c.Delete(b.Context(), int64(i%1000)) })
	})
	b.Run("floor", func(b *testing.B) {
		measure(b, func(int) error { return rdb.Ping(b.Context()).Err() })
	})
}

func measure(b *testing.B, f func(i int) error) {
	b.Helper()
	s := sampler{every: 1}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.run(func() {
			if err := f(i); err != nil {
				b.Fatal(err)
			}
		})
	}
	percentiles(b, s.times)
}
