package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/redistier"
)

// These tests run against real Redis servers and real faults. They wait for other processes, so
// they poll.

// redisFleet is the tiers of two processes on one Redis.
type redisFleet struct {
	tiers [2]*cache.Tiers
	c     [2]cache.Cache[int, string]
	loads atomic.Int64
	peak  atomic.Int64 // the most concurrent loads
	slow  atomic.Int64 // time of a load in ns
}

const redisMaxLoads = 16

// newRedisFleet returns two processes without a log.
func newRedisFleet(t *testing.T, client func() redis.UniversalClient) *redisFleet {
	t.Helper()
	return redisFleetOf(t, client, 0)
}

// redisFleetOf returns two processes. They use a log if bound is positive.
func redisFleetOf(t *testing.T, client func() redis.UniversalClient, bound time.Duration) *redisFleet {
	t.Helper()
	f := &redisFleet{}
	prefix := redistest.Prefix()
	var running atomic.Int64
	load := func(ctx context.Context, k int) (string, error) {
		f.loads.Add(1)
		n := running.Add(1)
		defer running.Add(-1)
		for p := f.peak.Load(); n > p; p = f.peak.Load() {
			if f.peak.CompareAndSwap(p, n) {
				break
			}
		}
		_ = nap(ctx, time.Duration(f.slow.Load()))
		return fmt.Sprint("value ", k), nil
	}
	for i := range f.tiers {
		rdb := client()
		cfg := cache.TiersConfig{
			Remote:   redistier.New(rdb, redistier.Config{Prefix: prefix}),
			MaxLoads: redisMaxLoads,
			Logger:   slog.New(slog.NewTextHandler(t.Output(), nil)), // helps when the test fails
			Policies: policy.Table{{Patch: policy.Patch{RemoteTimeout: new(250 * time.Millisecond)}}},
		}
		if bound > 0 {
			cfg.Log = redislog.New(rdb, redislog.Config{Prefix: prefix, Bound: bound})
		}
		tiers, err := cache.Open(cfg)
		must(t, err)
		t.Cleanup(func() { _ = tiers.Close(context.Background()) })
		f.tiers[i] = tiers
		if f.c[i], err = cache.New(tiers, cache.Config[int, string]{Namespace: "fleet:v1", Load: load, Tags: fleetTags}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func fleetTags(k int, _ string) []string { return []string{[]string{"even", "odd"}[k%2]} }

// get reads k in process i within ten seconds. More counts as a hang.
func (f *redisFleet) get(t *testing.T, i, k int) cache.Source {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := f.c[i].Fetch(ctx, k, nil)
	if err != nil || r.Value != fmt.Sprint("value ", k) {
		t.Errorf("process %d, key %d: %q, %v", i, k, r.Value, err)
	}
	return r.Source
}

// shares waits until one process gets a value that the other loaded, through Redis.
func (f *redisFleet) shares(t *testing.T, from int) {
	t.Helper()
	k := from
	redistest.Eventually(t, "the processes share again", func(ctx context.Context) error {
		k++
		if _, err := f.c[0].Fetch(ctx, k, nil); err != nil {
			return err
		}
		r, err := f.c[1].Fetch(ctx, k, nil)
		if err != nil {
			return err
		}
		if r.Source != cache.Remote {
			return fmt.Errorf("the other process got key %d from %v", k, r.Source)
		}
		return nil
	})
}

// setups are the kinds of Redis deployment.
var setups = map[string]func(t *testing.T) func() redis.UniversalClient{
	"single": func(t *testing.T) func() redis.UniversalClient {
		s := redistest.Start(t)
		return func() redis.UniversalClient { return s.Client() }
	},
	"sentinel": func(t *testing.T) func() redis.UniversalClient {
		s := redistest.StartSentinel(t)
		return redisFailover(t, s)
	},
	"cluster": func(t *testing.T) func() redis.UniversalClient {
		c := redistest.StartCluster(t, 3)
		return func() redis.UniversalClient { return c.Client() }
	},
}

func redisFailover(t *testing.T, s *redistest.Sentinel) func() redis.UniversalClient {
	return func() redis.UniversalClient {
		c := redis.NewFailoverClient(s.FailoverOptions())
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

func TestRedisSetups(t *testing.T) {
	for name, start := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRedisFleet(t, start(t))
			t.Run("one load", func(t *testing.T) { redisOneLoad(t, f) })
			t.Run("batch", func(t *testing.T) { redisBatch(t, f) })
			t.Run("write and delete", func(t *testing.T) { redisWrites(t, f) })
		})
	}
}

func redisOneLoad(t *testing.T, f *redisFleet) {
	f.loads.Store(0)
	f.slow.Store(int64(50 * time.Millisecond))
	defer f.slow.Store(0)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() { f.get(t, i%2, 1) })
	}
	wg.Wait()
	equal(t, f.loads.Load(), 1, "loads")
}

func redisBatch(t *testing.T, f *redisFleet) {
	keys := make([]int, 100)
	for i := range keys {
		keys[i] = 1000 + i
	}
	f.loads.Store(0)
	for i, c := range f.c {
		m, err := c.GetMany(t.Context(), keys)
		if err != nil || len(m) != len(keys) || m[1042] != "value 1042" {
			t.Fatalf("process %d: %d values, %v", i, len(m), err)
		}
	}
	equal(t, f.loads.Load(), int64(len(keys)), "loads")
}

func redisWrites(t *testing.T, f *redisFleet) {
	must(t, f.c[0].Set(t.Context(), 5000, "written"))
	for i, c := range f.c {
		equal(t, get(t, c, 5000), "written", "process %d after Set", i)
	}
	must(t, f.c[0].Delete(t.Context(), 5000))
	equal(t, f.get(t, 0, 5000), cache.Load, "after Delete the value came from")
}

// TestRedisFaults causes every kind of fault of one server. Reads must go on during the fault,
// and Redis must be used again after it.
func TestRedisFaults(t *testing.T) {
	faults := map[string]struct {
		args        []string
		damage, fix func(t *testing.T, s *redistest.Server, p *redistest.Proxy)
	}{
		"killed": {
			damage: func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Kill(t) },
			fix:    func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Restart(t) },
		},
		"stopped": {
			damage: func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Stop(t) },
			fix:    func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Cont(t) },
		},
		"slow": {
			damage: func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Delay(time.Second) },
			fix:    func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Pass() },
		},
		"half open": {
			damage: func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.BlackHole() },
			fix:    func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Pass() },
		},
		"garbage": {
			damage: func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) {
				p.Garbage([]byte("$99999999999999\r\nHTTP/1.1 400 Bad Request\r\n"))
			},
			fix: func(_ *testing.T, _ *redistest.Server, p *redistest.Proxy) { p.Drop(); p.Pass() },
		},
		"full": {
			args: []string{"--maxmemory-policy", "noeviction"},
			damage: func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) {
				s.Do(t, "CONFIG", "SET", "maxmemory", "1")
			},
			fix: func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) {
				s.Do(t, "CONFIG", "SET", "maxmemory", "0")
			},
		},
		"read-only": {
			damage: func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) {
				s.Do(t, "REPLICAOF", "127.0.0.1", "1")
			},
			fix: func(t *testing.T, s *redistest.Server, _ *redistest.Proxy) { s.Do(t, "REPLICAOF", "NO", "ONE") },
		},
	}
	for name, fault := range faults {
		for with, bound := range map[string]time.Duration{"": 0, " with a log": 2 * time.Second} {
			t.Run(name+with, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, redistest.Args(fault.args...))
				p := redistest.NewProxy(t, s.Addr())
				f := redisFleetOf(t, through(t, s, p), bound)
				f.shares(t, 10_000) // opens connections and loads scripts, because a call has only 250 ms
				f.get(t, 0, 1)
				if src := f.get(t, 1, 1); src != cache.Remote {
					t.Fatalf("before the fault the other process got the value from %v, want remote", src)
				}
				fault.damage(t, s, p)
				redisDegraded(t, f)
				fault.fix(t, s, p)
				f.shares(t, 100_000)
				if bound > 0 {
					f.hears(t)
				}
			})
		}
	}
}

// through returns a function that makes clients of a server behind a proxy.
func through(t *testing.T, s *redistest.Server, p *redistest.Proxy) func() redis.UniversalClient {
	return func() redis.UniversalClient {
		o := s.Options()
		o.Addr = p.Addr()
		// go-redis allocates any length that a server announces.
		o.Dialer = redistier.LimitReplies(nil, 64<<20)
		c := redis.NewClient(o)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// redisDegraded reads while Redis is broken. Cached values come from the local tier, the others
// from the loader, and the number of concurrent loads stays within MaxLoads.
func redisDegraded(t *testing.T, f *redisFleet) {
	t.Helper()
	equal(t, f.get(t, 1, 1), cache.Local, "a resident key came from")
	f.slow.Store(int64(5 * time.Millisecond))
	defer f.slow.Store(0)
	f.peak.Store(0)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			equal(t, f.get(t, i%2, 2000+i/2*2+i%2), cache.Load, "an absent key came from")
		})
	}
	wg.Wait()
	if n := f.peak.Load(); n > 2*redisMaxLoads {
		t.Errorf("%d concurrent loads, want at most %d in each process", n, redisMaxLoads)
	}
	t.Logf("200 absent keys took %v", time.Since(start))
	for range 20 { // sequential reads: the breaker prevents a wait for each
		f.get(t, 0, 1)
	}
}

func TestRedisFailover(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	f := newRedisFleet(t, redisFailover(t, s))
	f.get(t, 0, 1)
	s.Master.Kill(t)
	degradedButAnswering(t, f)
	f.shares(t, 100_000)
}

func TestRedisClusterNodeDown(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3)
	f := newRedisFleet(t, func() redis.UniversalClient { return c.Client() })
	f.get(t, 0, 1)
	c.Nodes[1].Stop(t)
	degradedButAnswering(t, f)
	c.Nodes[1].Cont(t)
	c.WaitOK(t)
	f.shares(t, 100_000)
}

// degradedButAnswering reads while a part of Redis is gone. Every read gets a value, from any
// source.
func degradedButAnswering(t *testing.T, f *redisFleet) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() { f.get(t, i%2, 3000+i) })
	}
	wg.Wait()
	keys := []int{4001, 4002, 4003, 4004, 4005, 4006, 4007, 4008}
	m, err := f.c[0].GetMany(t.Context(), keys)
	if err != nil || len(m) != len(keys) {
		t.Errorf("GetMany: %d values of %d, %v", len(m), len(keys), err)
	}
}

// A key that holds another Redis type, such as one of an older program, is replaced by the first
// Set and the first load.
func TestSetOverAnotherRedisType(t *testing.T) {
	rdb := redistest.Start(t).Client()
	prefix := redistest.Prefix()
	c := with(t, open(t, cache.TiersConfig{Remote: redistier.New(rdb, redistier.Config{Prefix: prefix})}), thingConfig{Load: (&source{}).load})
	for _, k := range []string{"1", "2"} {
		must(t, rdb.LPush(t.Context(), prefix+":v:default:things:"+k, "x").Err())
	}
	succeeds(t, c.Set(t.Context(), 1, "set"))
	if _, err := c.GetMany(t.Context(), []int{2, 3}); err != nil {
		t.Errorf("GetMany = %v, want nil", err)
	}
	for _, k := range []string{"1", "2"} {
		if kind, err := rdb.Type(t.Context(), prefix+":v:default:things:"+k).Result(); kind != "string" || err != nil {
			t.Errorf("key %s holds a %s, %v; want a cell", k, kind, err)
		}
	}
}

// When a client lacks the server's password, Ready, writes and the log say so. The source
// answers the reads.
func TestMissingPassword(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Args("--maxclients", "1000")) // a server of its own
	s.Do(t, "CONFIG", "SET", "requirepass", "secret")
	rdb := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	said := &lockedBuffer{}
	says := func(part string) (n int) { // how many lines of the log have it
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, part) {
				n++
			}
		}
		return n
	}
	tiers, err := cache.Open(cache.TiersConfig{
		Remote: redistier.New(rdb, redistier.Config{Prefix: "app"}),
		Log:    redislog.New(rdb, redislog.Config{Prefix: "app"}),
		Logger: slog.New(slog.NewTextHandler(said, nil)),
	})
	if err != nil {
		t.Fatalf("Open: %v; it must not talk to Redis", err)
	}
	const reason = "wants a password (NOAUTH): set Password in the client's options"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := tiers.Close(ctx); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Close = %v, want an error that names the reason", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := tiers.Ready(ctx); err == nil || !strings.Contains(err.Error(), "redislog: the server at "+s.Addr()+" "+reason) || !redis.IsAuthError(err) {
		t.Errorf("Ready = %v, want an error that says the server %s", err, reason)
	}
	src := &source{}
	c := with(t, tiers, thingConfig{Load: src.load})
	for k := range 10 {
		if v, err := c.Get(t.Context(), k); err != nil {
			t.Errorf("Get = %q, %v; want the source's answer", v, err)
		}
	}
	err = c.Set(t.Context(), 1, "new")
	if _, ok := errors.AsType[*invalidate.PendingError](err); !ok || !strings.Contains(err.Error(), reason) {
		t.Errorf("Set = %v, want a PendingError that says the server %s", err, reason)
	}
	equal(t, get(t, c, 1), "new", "Get")
	for _, what := range []string{"the lease has run out", "invalidations wait for the log or the remote tier"} {
		if n := says(what); n != 1 {
			t.Errorf("%d lines say that %s, want one; the log is\n%s", n, what, said.String())
		}
	}
	if n := says(reason); n < 2 || n > 3 { // the breaker may log a third
		t.Errorf("%d lines say that the server %s; the log is\n%s", n, reason, said.String())
	}
}
