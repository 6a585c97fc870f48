package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Helpers that the tests of this package share. Tests with time run in a testing/synctest
// bubble. Its clock moves only when every goroutine waits, so the times in the assertions are
// exact. A goroutine left behind fails the bubble.

type (
	things      = cache.Cache[int, string]
	thingConfig = cache.Config[int, string]
	patch       = policy.Patch
)

// advance lets d pass, then waits until every goroutine that it woke is blocked again.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func nap(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bubble runs a subtest in a bubble.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// succeeds reports err, and the test goes on.
func succeeds(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// fails checks that err is want.
func fails(t testing.TB, err, want error, what string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// errOf returns the error of a call that returns a value, too.
func errOf[T any](_ T, err error) error { return err }

// equal checks one value. The format says what it is.
func equal[T comparable](t testing.TB, got, want T, format string, args ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// same checks a value that may be deep.
func same(t testing.TB, want, got any, format string, args ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprintf(format, args...), diff)
	}
}

// open returns tiers that are closed when the test or its bubble ends.
func open(t *testing.T, cfg cache.TiersConfig) *cache.Tiers {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	tiers, err := cache.Open(cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		succeeds(t, tiers.Close(ctx))
	})
	return tiers
}

// tiersOf returns the configuration of a process with or without a remote tier.
func tiersOf(remote bool) (cfg cache.TiersConfig) {
	if remote {
		cfg.Remote = tiertest.NewMemory()
	}
	return cfg
}

// with returns a cache on tiers. Its lifetimes have no jitter unless cfg sets one.
func with[K comparable, V any](t *testing.T, tiers *cache.Tiers, cfg cache.Config[K, V]) cache.Cache[K, V] {
	t.Helper()
	if cfg.Namespace == "" {
		cfg.Namespace = "things"
	}
	if cfg.Policy.Jitter == nil {
		cfg.Policy.Jitter = new(0.0)
	}
	c, err := cache.New(tiers, cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return c
}

// fleet returns n processes on one remote tier: n Tiers, each with one cache.
func fleet(t *testing.T, n int, remote tier.Remote, tc cache.TiersConfig, cfg thingConfig) ([]*cache.Tiers, []things) {
	t.Helper()
	ts, cs := make([]*cache.Tiers, n), make([]things, n)
	for i := range n {
		tc.Remote = remote
		ts[i] = open(t, tc)
		cs[i] = with(t, ts[i], cfg)
	}
	return ts, cs
}

// source is the slow source behind a cache. Its values name the key and the load: the second
// load of 7 returns "7.2".
type source struct {
	took time.Duration // set before first use, or by takes

	mu        sync.Mutex // protects the rest
	say       func(f *cache.Fill)
	during    func(ctx context.Context) // before a load ends
	err       error
	unchanged bool           // a load with a previous value reports that it is unchanged
	empty     bool           // the values are ""
	fixed     string         // the values, if not empty
	vals      map[int]string // values that were written
	failed    []span         // loads that failed with err
	deaf      bool           // loads ignore their context
	panics    bool           // loads panic with errSource
	exits     bool           // loads end their goroutine
	previous  string         // of the last load
	loads     map[int]int
	running   int
	peak      int
	batches   [][]int
	ctxErrs   []error // errors of loads whose context ended
}

// span is the time that a load took.
type span struct{ began, ended time.Time }

func (s *source) load(ctx context.Context, k int) (string, error) {
	begun := time.Now()
	prev, again := cache.Previous[string](ctx)
	m, err := s.read(ctx, k)
	s.mu.Lock()
	v := m[k]
	if s.previous = prev; again && s.unchanged && err == nil {
		v, err = "", cache.ErrNotModified
	}
	s.mu.Unlock()
	if late := s.wait(ctx); late != nil {
		return "", late
	}
	if err != nil {
		s.set(func(s *source) { s.failed = append(s.failed, span{begun, time.Now()}) })
	}
	return v, err
}

// write changes the value of a key.
func (s *source) write(k int, v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vals == nil {
		s.vals = map[int]string{}
	}
	s.vals[k] = v
}

// loadMany finds the keys below 1000.
func (s *source) loadMany(ctx context.Context, keys []int) (map[int]string, error) {
	m, err := s.read(ctx, keys...)
	s.set(func(s *source) { s.batches = append(s.batches, slices.Clone(keys)) })
	maps.DeleteFunc(m, func(k int, _ string) bool { return k >= 1000 })
	if late := s.wait(ctx); late != nil {
		return nil, late
	}
	return m, err
}

// read begins a load, and returns its values.
func (s *source) read(ctx context.Context, keys ...int) (map[int]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.say != nil {
		s.say(cache.Filling(ctx))
	}
	if s.loads == nil {
		s.loads = map[int]int{}
	}
	m := map[int]string{}
	for _, k := range keys {
		s.loads[k]++
		if m[k] = fmt.Sprintf("%d.%d", k, s.loads[k]); s.empty {
			m[k] = ""
		}
		if s.fixed != "" {
			m[k] = s.fixed
		}
		if v, ok := s.vals[k]; ok {
			m[k] = v
		}
	}
	s.running++
	s.peak = max(s.peak, s.running)
	return m, s.err
}

// wait takes the time of a load. It returns the error of a context that ends meanwhile.
func (s *source) wait(ctx context.Context) error {
	s.mu.Lock()
	took, deaf, panics, exits, during := s.took, s.deaf, s.panics, s.exits, s.during
	s.mu.Unlock()
	if deaf {
		ctx = context.WithoutCancel(ctx)
	}
	late := nap(ctx, took)
	if during != nil && late == nil {
		during(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if late != nil {
		s.ctxErrs = append(s.ctxErrs, late)
		return late
	}
	if panics {
		panicHere(errSource)
	}
	if exits {
		runtime.Goexit()
	}
	return nil
}

// set changes the source for the loads that begin after it.
func (s *source) set(change func(s *source)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// fail makes the loads that begin after it return err.
func (s *source) fail(err error) { s.set(func(s *source) { s.err = err }) }

// takes sets how long the loads take that begin after it.
func (s *source) takes(d time.Duration) { s.set(func(s *source) { s.took = d }) }

// total returns the number of loads that began.
func (s *source) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for v := range maps.Values(s.loads) {
		n += v
	}
	return n
}

func (s *source) wantLoads(t *testing.T, want int) {
	t.Helper()
	if got := s.total(); got != want {
		t.Errorf("the source was called %d times, want %d", got, want)
	}
}

var errSource = errors.New("the source is down")

// get calls Get, which must succeed.
func get[K comparable, V any](t *testing.T, c cache.Cache[K, V], k K) V {
	t.Helper()
	v, err := c.Get(t.Context(), k)
	if err != nil {
		t.Errorf("Get(%v): %v", k, err)
	}
	return v
}

// reader is a Cache or a Reader.
type reader interface {
	Get(ctx context.Context, k int) (string, error)
	GetMany(ctx context.Context, keys []int, opts ...cache.Option) (map[int]string, error)
}

// readBy reads key 1 by Get or by GetMany.
func readBy(ctx context.Context, c reader, many bool) (string, error) {
	if !many {
		return c.Get(ctx, 1)
	}
	m, err := c.GetMany(ctx, []int{1})
	return m[1], err
}

// fetched is a Result without its age, together with the error.
type fetched struct {
	Value  string
	Source cache.Source
	Stale  bool
	Err    error
}

// wantFetch checks one Fetch with the bound loader. It compares errors by errors.Is.
func wantFetch(t *testing.T, c things, k int, want fetched, opts ...cache.Option) {
	t.Helper()
	r, err := c.Fetch(t.Context(), k, nil, opts...)
	if r.Value != want.Value || r.Source != want.Source || r.Stale != want.Stale || !errors.Is(err, want.Err) {
		t.Errorf("Fetch(%d) = {%q %v stale=%v} %v, want {%q %v stale=%v} %v",
			k, r.Value, r.Source, r.Stale, err, want.Value, want.Source, want.Stale, want.Err)
	}
}

// wantError checks that err is an *Error with op and key, and that errors.Is(err, is).
func wantError(t *testing.T, err error, op, key string, is error) {
	t.Helper()
	ce, ok := errors.AsType[*cache.Error](err)
	if !ok {
		t.Errorf("error = %v (%T), want a *cache.Error", err, err)
		return
	}
	if ce.Op != op || ce.Key != key {
		t.Errorf("error has Op %q and Key %q, want %q and %q: %v", ce.Op, ce.Key, op, key, err)
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error = %v, want an error that is %v", err, is)
	}
}

// crowd runs n callers concurrently and waits for them.
func crowd(n int, call func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { call(i) })
	}
	wg.Wait()
}

func total(tiers *cache.Tiers) cache.Counts { return tiers.Stats().Total }

func invalidateTag(t *testing.T, tiers *cache.Tiers, tag string) {
	t.Helper()
	if err := tiers.Invalidate(t.Context(), invalidate.Tag(cache.DefaultTenant, tag)); err != nil {
		t.Errorf("Invalidate(%s): %v", tag, err)
	}
}

// prefixOf returns the scope of a prefix that names its tenant.
func prefixOf(p string) invalidate.Scope {
	tenant, rest, _ := strings.Cut(p, ":")
	return invalidate.Prefix(tenant, rest)
}

func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// faulty returns a remote tier in memory that fails on command.
func faulty() *tiertest.Faulty { return tiertest.NewFaulty(tiertest.NewMemory()) }

// seedOf returns the seed of a randomised test: TWOFOLD_SEED, or a new one. The test logs it.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("TWOFOLD_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("TWOFOLD_SEED: %v", err)
		}
	}
	t.Logf("repeat with TWOFOLD_SEED=%d", seed)
	return seed
}

// way is a way to read a key.
type way struct {
	name string
	read func(ctx context.Context, c things, k int, opts ...cache.Option) (string, error)
}

// ways are the calls that read a value. Where a call has no error for it, an absence is
// ErrNotFound, and a Peek that finds nothing is a miss.
var ways = []way{
	{"Get", func(ctx context.Context, c things, k int, _ ...cache.Option) (string, error) { return c.Get(ctx, k) }},
	{"Fetch", func(ctx context.Context, c things, k int, opts ...cache.Option) (string, error) {
		r, err := c.Fetch(ctx, k, nil, opts...)
		return r.Value, err
	}},
	{"GetOrLoad", func(ctx context.Context, c things, k int, opts ...cache.Option) (string, error) {
		return c.GetOrLoad(ctx, k, nil, opts...)
	}},
	{"GetMany", func(ctx context.Context, c things, k int, opts ...cache.Option) (string, error) {
		m, err := c.GetMany(ctx, []int{k, k + 1}, opts...)
		v, ok := m[k]
		if be, isBatch := errors.AsType[*cache.BatchError[int]](err); isBatch {
			return v, be.Errs[k]
		}
		if err == nil && !ok {
			err = cache.ErrNotFound
		}
		return v, err
	}},
	{"Peek", func(ctx context.Context, c things, k int, _ ...cache.Option) (string, error) {
		v, ok := c.Peek(ctx, k)
		if !ok {
			return "", cache.ErrMiss
		}
		return v, nil
	}},
}

// ofEach returns a LoadMany that loads key by key, and names the keys that fail.
func ofEach(load cache.Loader[int, string]) func(context.Context, []int) (map[int]string, error) {
	return func(ctx context.Context, keys []int) (map[int]string, error) {
		m, errs := map[int]string{}, map[int]error{}
		for _, k := range keys {
			v, err := load(ctx, k)
			if err == nil {
				m[k] = v
			} else {
				errs[k] = err
			}
		}
		return m, cache.KeyErrors(errs)
	}
}

// loading returns a Config that loads by Load, or by LoadMany only.
func loading(load cache.Loader[int, string], many bool) thingConfig {
	if many {
		return thingConfig{LoadMany: ofEach(load)}
	}
	return thingConfig{Load: load}
}
