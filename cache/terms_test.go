package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// saying returns a loader that calls say for each load.
func (s *source) saying(say func(f *cache.Fill)) func(context.Context, int) (string, error) {
	return func(ctx context.Context, k int) (string, error) {
		say(cache.Filling(ctx))
		return s.load(ctx, k)
	}
}

// A loader's Stale and StaleIfError bind the process that loaded the value, and any process with
// another policy that reads its cell.
func TestTermsBindEveryReader(t *testing.T) {
	const ttl, minute = 10 * time.Second, time.Minute
	none := patch{TTL: new(ttl)}
	swr, sie := patch{TTL: new(ttl), Stale: new(minute)}, patch{TTL: new(ttl), StaleIfError: new(minute)}
	nothing := func(*cache.Fill) {}
	for _, tt := range []struct {
		name           string
		writer, reader patch
		say            func(f *cache.Fill)
		after          time.Duration
		down           bool
		stale          bool   // the value is served stale
		wrote          string // if not empty, the writer gets this value stale
	}{
		{"nothing said, both serve stale", swr, swr, nothing, 30 * time.Second, false, true, ""},
		{"nothing said, the reader does not", swr, none, nothing, 30 * time.Second, false, false, "1.1"},
		{"nothing said, the writer does not", none, swr, nothing, 30 * time.Second, false, false, ""},
		{"SetStale", none, none, func(f *cache.Fill) { f.SetStale(minute) }, ttl + minute - time.Second, false, true, ""},
		{"SetStale, over", none, swr, func(f *cache.Fill) { f.SetStale(minute) }, ttl + minute, false, false, ""},
		{"SetStale of zero", swr, swr, func(f *cache.Fill) { f.SetStale(0) }, ttl, false, false, ""},
		{"SetStale below zero", swr, swr, func(f *cache.Fill) { f.SetStale(-minute) }, ttl, false, false, ""},
		{"SetStale of zero, a load fails", swr, swr, func(f *cache.Fill) { f.SetStale(0) }, ttl, true, false, ""},
		{"nothing said, a load fails", sie, none, nothing, 30 * time.Second, true, true, ""},
		{"SetStaleIfError", none, none, func(f *cache.Fill) { f.SetStaleIfError(minute) }, ttl + minute - time.Second, true, true, ""},
		{"SetStaleIfError, over", none, sie, func(f *cache.Fill) { f.SetStaleIfError(minute) }, ttl + minute, true, false, ""},
		{"SetStaleIfError, nothing fails", none, swr, func(f *cache.Fill) { f.SetStaleIfError(minute) }, 30 * time.Second, false, false, ""},
		{"SetStaleIfError of zero", sie, sie, func(f *cache.Fill) { f.SetStaleIfError(0) }, ttl, true, false, ""},
		{"SetStaleIfError behind SetStale", none, none, func(f *cache.Fill) { f.SetStale(minute); f.SetStaleIfError(minute) }, ttl + 2*minute - time.Second, true, true, ""},
		{"never fresh", none, none, func(f *cache.Fill) { f.SetTTL(0); f.SetStale(minute) }, 0, false, true, ""},
		{"never fresh, said the other way", none, none, func(f *cache.Fill) { f.SetStale(minute); f.SetTTL(-1) }, 0, false, true, ""},
		{"never fresh, for errors", none, none, func(f *cache.Fill) { f.SetTTL(0); f.SetStaleIfError(minute) }, minute - time.Second, true, true, ""},
		{"never fresh, nothing fails", none, swr, func(f *cache.Fill) { f.SetTTL(0); f.SetStaleIfError(minute) }, 0, false, false, ""},
		{"not stored", swr, swr, func(f *cache.Fill) { f.SetTTL(0); f.SetStale(0) }, 0, false, false, ""},
		{"NoStore wins", swr, swr, func(f *cache.Fill) { f.SetTTL(0); f.SetStale(minute); f.NoStore() }, 0, false, false, ""},
	} {
		for who, reader := range []string{"writer", "reader"} {
			bubble(t, tt.name+", read by the "+reader, func(t *testing.T) {
				src, mem := &source{}, tiertest.NewMemory()
				load := src.saying(tt.say)
				cs := [2]things{
					with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Load: load, Policy: tt.writer}),
					with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Load: load, Policy: tt.reader}),
				}
				get(t, cs[0], 1)
				advance(tt.after)
				if tt.down {
					src.fail(errSource)
				}
				r, err := cs[who].Fetch(t.Context(), 1, nil)
				stale := tt.stale || who == 0 && tt.wrote != ""
				switch {
				case stale && (r.Value != "1.1" || !r.Stale || err != nil):
					t.Errorf("Fetch = %+v, %v; want a stale 1.1", r, err)
				case !stale && tt.down && !errors.Is(err, errSource):
					t.Errorf("Fetch = %+v, %v; want the source's error", r, err)
				case !stale && !tt.down && (r.Value != "1.2" || r.Source != cache.Load || err != nil):
					t.Errorf("Fetch = %+v, %v; want 1.2 from a load", r, err)
				}
			})
		}
	}
}

// After an Expire the value's own Stale and StaleIfError count from the Expire. This also holds
// for a value with TTL policy.Forever.
func TestTermsAndExpire(t *testing.T) {
	for name, ttl := range map[string]time.Duration{"an hour": time.Hour, "for ever": policy.Forever} {
		bubble(t, name, func(t *testing.T) {
			src := &source{}
			log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
			ts, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{Log: log}, thingConfig{
				Load: src.saying(func(f *cache.Fill) {
					f.SetTTL(ttl)
					f.SetStale(10 * time.Second)
					f.SetStaleIfError(10 * time.Second)
				}),
				Tags: tagT, Policy: patch{Stale: new(time.Hour), StaleIfError: new(time.Hour)},
			})
			synctest.Wait()
			get(t, cs[0], 1)
			get(t, cs[1], 1)
			must(t, ts[0].Expire(t.Context(), keyScope(t, 1)))
			src.fail(errSource)
			advance(bound)
			for i := range cs {
				wantFetch(t, cs[i], 1, fetched{"1.1", cache.Local, true, nil})
			}
			advance(15 * time.Second)
			for i := range cs {
				wantFetch(t, cs[i], 1, fetched{"1.1", cache.Local, true, nil})
			}
			advance(10 * time.Second)
			for i := range cs {
				wantFetch(t, cs[i], 1, fetched{"", 0, false, errSource})
			}
		})
	}
}

// The policy's StaleIfError lets a value stand in for a slow load after SoftTimeout. SetStale(0)
// prevents this.
func TestSlowLoadAfterSetStaleOfZero(t *testing.T) {
	for name, tt := range map[string]struct {
		say  func(f *cache.Fill)
		want fetched
	}{
		"nothing said":                  {func(*cache.Fill) {}, fetched{"1.1", cache.Local, true, nil}},
		"SetStale of zero":              {func(f *cache.Fill) { f.SetStale(0) }, fetched{"1.2", cache.Load, false, nil}},
		"SetStale, over":                {func(f *cache.Fill) { f.SetStale(time.Second) }, fetched{"1.1", cache.Local, true, nil}},
		"SetStale of zero, never fresh": {func(f *cache.Fill) { f.SetTTL(0); f.SetStale(0); f.SetStaleIfError(time.Hour) }, fetched{"1.2", cache.Load, false, nil}},
	} {
		bubble(t, name, func(t *testing.T) {
			src := &source{took: 10 * time.Second}
			c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.saying(tt.say), Policy: patch{
				TTL: new(time.Minute), StaleIfError: new(time.Hour), SoftTimeout: new(time.Second),
			}})
			get(t, c, 1)
			advance(2 * time.Minute)
			wantFetch(t, c, 1, tt.want)
		})
	}
}

// A value with SetStale(0) is fresh, but LocalTTL has passed. It is served after SoftTimeout.
func TestSlowLoadOfAnUntrustedValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: 10 * time.Second}
		mem := tiertest.NewMemory()
		c := with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{
			Load:   src.saying(func(f *cache.Fill) { f.SetStale(0) }),
			Policy: patch{TTL: new(time.Hour), LocalTTL: new(time.Minute), StaleIfError: new(time.Hour), SoftTimeout: new(time.Second)},
		})
		get(t, c, 1)
		advance(2 * time.Minute)
		must(t, mem.Unlink(t.Context(), cell1))
		wantFetch(t, c, 1, fetched{"1.1", cache.Local, true, nil})
	})
}

// An Expire does not remove a value whose Stale, StaleIfError or Keep has no end.
func TestExpireOfEndlessStale(t *testing.T) {
	for name, say := range map[string]func(f *cache.Fill){
		"Stale":        func(f *cache.Fill) { f.SetStale(math.MaxInt64) },
		"StaleIfError": func(f *cache.Fill) { f.SetStale(time.Hour); f.SetStaleIfError(math.MaxInt64) },
		"290 years":    func(f *cache.Fill) { f.SetStale(290 * 365 * 24 * time.Hour) },
		"Keep":         func(f *cache.Fill) { f.SetStale(time.Hour); f.SetKeep(math.MaxInt64) },
	} {
		bubble(t, name, func(t *testing.T) {
			for _, ttl := range []time.Duration{time.Hour, 10 * time.Hour, 1000 * time.Hour} {
				src := &source{}
				_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{
					Load: src.saying(func(f *cache.Fill) { f.SetTTL(ttl); say(f) }),
				})
				get(t, cs[0], 1)
				advance(time.Second)
				must(t, cs[0].Expire(t.Context(), 1))
				advance(time.Minute)
				if v, ok := cs[1].Peek(t.Context(), 1); !ok {
					t.Errorf("TTL %v: Peek = %q, %v while the value is stale, want 1.1", ttl, v, ok)
				}
			}
		})
	}
}

// A load does not get a value built from an expired part as Previous. ErrNotModified would make
// that value fresh.
func TestNotModifiedOfExpiredParts(t *testing.T) {
	for name, reader := range map[string]int{"one process": 0, "two processes": 1} {
		bubble(t, name, func(t *testing.T) {
			src := &source{}
			ts, parts := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load, Policy: keptLong})
			var pages []things
			for i := range parts {
				pages = append(pages, built(t, ts[i], "pages", keptLong, unchanged(func(ctx context.Context) (string, error) {
					return parts[i].Get(ctx, 1)
				})))
			}
			get(t, parts[0], 1)
			get(t, parts[1], 1)
			src.took = 20 * time.Second
			for i := range ts {
				must(t, ts[i].Expire(t.Context(), keyScope(t, 1)))
			}
			advance(time.Second)
			wantFetch(t, pages[0], 1, fetched{"1.1", cache.Load, true, nil})
			for range 5 {
				advance(2 * time.Second)
				if r, err := pages[reader].Fetch(t.Context(), 1, nil); err != nil || r.Value != "1.1" || !r.Stale {
					t.Errorf("page = %+v, %v; want a stale page", r, err)
				}
			}
			for range 3 {
				advance(time.Minute)
				_, _ = pages[reader].Get(t.Context(), 1)
			}
			advance(time.Minute)
			if r, err := pages[reader].Fetch(t.Context(), 1, nil); err != nil || r.Value == "1.1" || r.Stale {
				t.Errorf("page = %+v, %v; want the new page", r, err)
			}
		})
	}
}

// said is one load of the model: the lifetimes that it set, and when it began.
type said struct {
	at                        time.Time
	ttl, stale, ifError, keep time.Duration
	tags                      int
}

// termsModel is two processes on one log. Their loader sets other lifetimes for each value.
type termsModel struct {
	*testing.T
	rnd     *rand.Rand
	ts      []*cache.Tiers
	cs      []things
	down    bool
	loads   int
	next    said
	of      map[string][]said // by value: the loads that returned it or ErrNotModified for it
	died    time.Time         // when a tag of all values was last invalidated
	expired time.Time
}

func (m *termsModel) load(ctx context.Context, _ int) (string, error) {
	f, now := cache.Filling(ctx), m.next
	now.at = time.Now()
	f.SetTTL(now.ttl)
	f.SetStale(now.stale)
	f.SetStaleIfError(now.ifError)
	f.SetKeep(now.keep)
	cache.Depend(ctx, append(tagNames(now.tags), "last")...) // beyond the limit a cell has no room for "last"
	v, ok := cache.Previous[string](ctx)
	if ok {
		m.known(m.of, v, "Previous", func(s said) time.Duration { return s.ttl + s.stale + s.ifError + s.keep })
	}
	m.loads++
	switch {
	case m.down:
		return "", errSource
	case ok && m.loads%3 > 0:
		m.of[v] = append(slices.Clip(m.of[v]), now)
		return "", cache.ErrNotModified
	}
	v = fmt.Sprint("v", m.loads)
	m.of[v] = []said{now}
	return v, nil
}

// known checks that a load after the last invalidation returned the value, and that the value is
// not older than that load allows. If a load was not stored, the limits of an earlier load still
// hold.
func (m *termsModel) known(of map[string][]said, v, by string, most func(said) time.Duration) {
	if !slices.ContainsFunc(of[v], func(s said) bool { return !s.at.Before(m.died) && time.Since(s.at) <= most(s) }) {
		m.Errorf("%v: %s = %s, last invalidated at %v; its loads are %+v", time.Now(), by, v, m.died, of[v])
	}
}

func (m *termsModel) read(i int, opts ...cache.Option) {
	before := maps.Clone(m.of)
	r, err := m.cs[i].Fetch(m.Context(), 1, nil, opts...)
	synctest.Wait() // wait for a refresh
	switch {
	case err != nil && !m.down:
		m.Errorf("Fetch: %v", err)
	case err != nil:
	case r.Source == cache.Load && !r.Stale:
		m.known(m.of, r.Value, "a load", func(said) time.Duration { return 0 })
	case !r.Stale:
		m.known(before, r.Value, "a fresh value", func(s said) time.Duration {
			if s.at.Before(m.expired) {
				return -1
			}
			return s.ttl
		})
	case m.down:
		m.known(before, r.Value, "a value instead of an error", func(s said) time.Duration { return s.ttl + s.stale + s.ifError })
	default:
		m.known(before, r.Value, "a stale value", func(s said) time.Duration { return s.ttl + s.stale })
	}
}

func (m *termsModel) check(err error) {
	if err != nil {
		m.Error(err)
	}
	advance(bound)
}

// draw returns one of some values at random.
func draw[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (m *termsModel) time() time.Duration {
	return draw(m.rnd, 0, time.Second, 10*time.Second, time.Minute)
}

func (m *termsModel) step() {
	m.next = said{ttl: m.time(), stale: m.time(), ifError: m.time(), keep: m.time(), tags: draw(m.rnd, 2, 100, 256, 300)}
	i := m.rnd.IntN(len(m.cs))
	switch m.rnd.IntN(10) {
	case 0:
		advance(time.Millisecond)
		at := time.Now()
		m.check(m.ts[i].Invalidate(m.Context(), invalidate.Tag(cache.DefaultTenant, draw(m.rnd, "tag0", "last"))))
		m.died = at
	case 1:
		advance(time.Millisecond)
		at := time.Now()
		m.check(m.ts[i].Expire(m.Context(), invalidate.Tag(cache.DefaultTenant, "last")))
		m.expired = at
	case 2:
		m.down = !m.down
	case 3:
		if v, ok := m.cs[i].Peek(m.Context(), 1); ok {
			m.known(m.of, v, "Peek", func(s said) time.Duration { return s.ttl + s.stale })
		}
	case 4:
		advance(m.time() + time.Second)
	case 5:
		m.read(i, cache.Fresh())
	case 6:
		m.read(i, cache.MaxAge(time.Hour))
	default:
		advance(m.time())
		m.read(i)
	}
	synctest.Wait()
}

// Two processes read, expire and invalidate values with random lifetimes and tags. Each answer
// must fit the lifetimes that the loaders set.
func TestTermsModel(t *testing.T) {
	for seed := range uint64(100) {
		bubble(t, fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &termsModel{T: t, rnd: rand.New(rand.NewPCG(seed, 0)), of: map[string][]said{}}
			m.ts, m.cs = fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound})}, thingConfig{
				Load:   m.load,
				Policy: patch{Stale: new(time.Hour), StaleIfError: new(time.Hour), Throttle: new(time.Duration), RefreshAhead: new(0.0)},
			})
			synctest.Wait()
			for range 40 {
				m.step()
			}
		})
	}
}
