package cache_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
