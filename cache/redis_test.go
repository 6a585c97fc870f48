package cache_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/redistier"
)

// These tests run against real Redis servers and real faults. They wait for other processes, so
// they poll.

// onRedis is the configuration of a process whose cells are in one Redis and whose log is in another,
// or in the same. Nil means no log, and a bound of 0 the default.
func onRedis(cells, logs redis.UniversalClient, prefix string, bound time.Duration) cache.TiersConfig {
	cfg := cache.TiersConfig{Remote: redistier.New(cells, redistier.Config{Prefix: prefix})}
	if logs != nil {
		cfg.Log = redislog.New(logs, redislog.Config{Prefix: prefix, Bound: bound})
	}
	return cfg
}

// ready returns tiers that have heard from their log.
func ready(t *testing.T, cfg cache.TiersConfig) *cache.Tiers {
	t.Helper()
	tiers := open(t, cfg)
	must(t, tiers.Ready(t.Context()))
	return tiers
}

// redisFleet is two processes on one Redis, with one source.
type redisFleet struct {
	src   *source
	tiers [2]*cache.Tiers
	c     [2]things
}

const redisMaxLoads = 16

// remoteTimeout returns a policy. Without a fault the timeout is long, because a busy machine may take
// a second for a call.
func remoteTimeout(d time.Duration) policy.Table {
	return policy.Table{{Patch: patch{RemoteTimeout: &d}}}
}

// newRedisFleet returns two processes. They use a log if bound is positive.
func newRedisFleet(t *testing.T, client func() redis.UniversalClient, bound time.Duration) *redisFleet {
	t.Helper()
	f, prefix := &redisFleet{src: &source{}}, redistest.Prefix()
	for i := range f.tiers {
		rdb := client()
		logs := rdb
		if bound == 0 {
			logs = nil
		}
		cfg := onRedis(rdb, logs, prefix, bound)
		cfg.MaxLoads, cfg.Policies, cfg.InvalidateWait = redisMaxLoads, remoteTimeout(10*time.Second), 10*time.Second
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil)) // helps when the test fails
		tiers, err := cache.Open(cfg)
		must(t, err)
		t.Cleanup(func() { _ = tiers.Close(context.Background()) })
		f.tiers[i], f.c[i] = tiers, with(t, tiers, thingConfig{Namespace: "fleet:v1", Load: f.src.load, Tags: fleetTags})
	}
	return f
}

// expectsFaults makes calls end soon from now on.
func (f *redisFleet) expectsFaults(t *testing.T) {
	t.Helper()
	for _, tiers := range f.tiers {
		must(t, tiers.SetPolicies(remoteTimeout(250*time.Millisecond)))
	}
}

func fleetTags(k int, _ string) []string { return []string{[]string{"even", "odd"}[k%2]} }

// get reads k in process i within ten seconds. More counts as a hang.
func (f *redisFleet) get(t *testing.T, i, k int) cache.Source {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := f.c[i].Fetch(ctx, k, nil)
	if err != nil || !strings.HasPrefix(r.Value, fmt.Sprint(k, ".")) {
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
		if err == nil && r.Source != cache.Remote {
			err = fmt.Errorf("the other process got key %d from %v", k, r.Source)
		}
		return err
	})
}

// setups are the kinds of Redis deployment.
var setups = map[string]func(t *testing.T) func() redis.UniversalClient{
	"single": func(t *testing.T) func() redis.UniversalClient {
		s := redistest.Start(t)
		return func() redis.UniversalClient { return s.Client() }
	},
	"sentinel": func(t *testing.T) func() redis.UniversalClient { return redisFailover(t, redistest.StartSentinel(t)) },
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

// Two processes share loads and writes on each kind of deployment, and with a log their invalidations.
func TestRedisSetups(t *testing.T) {
	for name, start := range setups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := start(t)
			f := newRedisFleet(t, client, 0)
			t.Run("one load", func(t *testing.T) { redisOneLoad(t, f) })
			t.Run("batch", func(t *testing.T) { redisBatch(t, f) })
			t.Run("write and delete", func(t *testing.T) { redisWrites(t, f) })
			// On a busy machine a call may take a second, and a lease of two may run out.
			t.Run("log", func(t *testing.T) { redisLog(t, newRedisFleet(t, client, time.Minute), client()) })
			t.Run("settle", func(t *testing.T) { redisSettle(t, newRedisFleet(t, client, 2*time.Second)) }) // it waits for a bound
		})
	}
}

func redisOneLoad(t *testing.T, f *redisFleet) {
	f.src.takes(50 * time.Millisecond)
	defer f.src.takes(0)
	crowd(64, func(i int) { f.get(t, i%2, 1) })
	f.src.wantLoads(t, 1)
}

func redisBatch(t *testing.T, f *redisFleet) {
	keys, before := ints(1000, 1100), f.src.total()
	for i, c := range f.c {
		m, err := c.GetMany(t.Context(), keys)
		if err != nil || len(m) != len(keys) || m[1042] != "1042.1" {
			t.Fatalf("process %d: %d values, %v", i, len(m), err)
		}
	}
	f.src.wantLoads(t, before+len(keys))
}

func redisWrites(t *testing.T, f *redisFleet) {
	must(t, f.c[0].Set(t.Context(), 5000, "written"))
	for i, c := range f.c {
		equal(t, get(t, c, 5000), "written", "process %d after Set", i)
	}
	must(t, f.c[0].Delete(t.Context(), 5000))
	equal(t, f.get(t, 0, 5000), cache.Load, "after Delete the value came from")
}

func redisLog(t *testing.T, f *redisFleet, rdb redis.UniversalClient) {
	for _, tiers := range f.tiers {
		must(t, tiers.Ready(t.Context()))
	}
	f.hears(t)
	redisCells(t, f, rdb)
	for i, tiers := range f.tiers {
		if s := tiers.Stats().Log; s.Gaps != 0 || s.Bumps != 1 || s.Lapses != 0 || s.Pending != 0 || s.Records < 4 {
			t.Errorf("process %d: %+v", i, s)
		}
	}
}

// disturb makes or ends a fault of a server or of the way to it. Other words are a command.
func disturb(t *testing.T, what string, s *redistest.Server, p *redistest.Proxy) {
	t.Helper()
	switch what {
	case "kill":
		s.Kill(t)
	case "restart":
		s.Restart(t)
	case "stop":
		s.Stop(t)
	case "go on":
		s.Cont(t)
	case "delay":
		p.Delay(time.Second)
	case "black hole":
		p.BlackHole()
	case "garbage":
		p.Garbage([]byte("$99999999999999999\r\nHTTP/1.1 400 Bad Request\r\n"))
	case "pass":
		p.Pass()
	case "new connections":
		p.Drop()
		p.Pass()
	default:
		var args []any
		for word := range strings.FieldsSeq(what) {
			args = append(args, word)
		}
		s.Do(t, args...)
	}
}

// TestRedisFaults causes every kind of fault of one server. Reads must go on during the fault,
// and Redis must be used again after it.
func TestRedisFaults(t *testing.T) {
	for name, fault := range map[string]struct {
		damage, fix string
		args        []string
	}{
		"killed":    {damage: "kill", fix: "restart"},
		"stopped":   {damage: "stop", fix: "go on"},
		"slow":      {damage: "delay", fix: "pass"},
		"half open": {damage: "black hole", fix: "pass"},
		"garbage":   {damage: "garbage", fix: "new connections"},
		"full":      {damage: "CONFIG SET maxmemory 1", fix: "CONFIG SET maxmemory 0", args: []string{"--maxmemory-policy", "noeviction"}},
		"read-only": {damage: "REPLICAOF 127.0.0.1 1", fix: "REPLICAOF NO ONE"},
	} {
		for with, bound := range map[string]time.Duration{"": 0, " with a log": 2 * time.Second} {
			t.Run(name+with, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, redistest.Args(fault.args...))
				p := redistest.NewProxy(t, s.Addr())
				f := newRedisFleet(t, through(t, s, p), bound)
				f.shares(t, 10_000) // opens connections and loads scripts, because a call soon has only 250 ms
				f.get(t, 0, 1)
				if src := f.get(t, 1, 1); src != cache.Remote {
					t.Fatalf("before the fault the other process got the value from %v, want remote", src)
				}
				f.expectsFaults(t)
				disturb(t, fault.damage, s, p)
				redisDegraded(t, f)
				if name == "stopped" {
					hurriedOnRedis(t, f, bound)
				}
				disturb(t, fault.fix, s, p)
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
	f.src.set(func(s *source) { s.took, s.peak = 5*time.Millisecond, 0 })
	defer f.src.takes(0)
	start := time.Now()
	crowd(200, func(i int) { equal(t, f.get(t, i%2, 2000+i), cache.Load, "an absent key came from") })
	f.src.set(func(s *source) {
		if s.peak > 2*redisMaxLoads {
			t.Errorf("%d concurrent loads, want at most %d in each process", s.peak, redisMaxLoads)
		}
	})
	t.Logf("200 absent keys took %v", time.Since(start))
	for range 20 { // sequential reads: the breaker prevents a wait for each
		f.get(t, 0, 1)
	}
}

// hurriedOnRedis reads with short deadlines while Redis answers nothing and the breaker is open. Still
// shorter ones would measure the machine: TestHungRedisAndShortDeadlines tests those.
func hurriedOnRedis(t *testing.T, f *redisFleet, bound time.Duration) {
	t.Helper()
	f.src.takes(time.Millisecond)
	var keys, good, bad atomic.Int64
	end := time.Now().Add(2500*time.Millisecond + 2*bound) // some trials of the breaker, and no lease any more
	crowd(4, func(i int) {
		for time.Now().Before(end) {
			ctx, cancel := context.WithTimeout(t.Context(), []time.Duration{100 * time.Millisecond, 500 * time.Millisecond}[i/2])
			if _, err := f.c[i%2].Get(ctx, 20_000+int(keys.Add(1))); err == nil {
				good.Add(1)
			} else {
				bad.Add(1)
			}
			cancel()
		}
	})
	if good.Load() < 99*bad.Load() {
		t.Errorf("%d reads with short deadlines succeed and %d fail, want 99 %% of them to succeed", good.Load(), bad.Load())
	}
}

// When a primary dies, reads go on, and the new primary is used. It may lack the last records of the
// log, so that all older values are given up. When a node of a Cluster hangs, reads go on, too.
func TestRedisFailover(t *testing.T) {
	for name, bound := range map[string]time.Duration{"no log": 0, "a log": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartSentinel(t)
			f := newRedisFleet(t, redisFailover(t, s), bound)
			if f.get(t, 0, 1); bound > 0 {
				f.hears(t)
			}
			f.expectsFaults(t)
			s.Master.Kill(t)
			degradedButAnswering(t, f)
			f.shares(t, 100_000)
			if bound == 0 {
				return
			}
			f.hears(t)
			for i, tiers := range f.tiers {
				if n := tiers.Stats().Log.Bumps; n < 2 {
					t.Errorf("process %d saw %d epochs, want 2", i, n)
				}
			}
		})
	}
	t.Run("a node hangs", func(t *testing.T) {
		t.Parallel()
		c := redistest.StartCluster(t, 3)
		f := newRedisFleet(t, func() redis.UniversalClient { return c.Client() }, 0)
		f.get(t, 0, 1)
		f.expectsFaults(t)
		c.Nodes[1].Stop(t)
		degradedButAnswering(t, f)
		c.Nodes[1].Cont(t)
		c.WaitOK(t)
		f.shares(t, 100_000)
	})
}

// degradedButAnswering reads while a part of Redis is gone. Every read gets a value, from any
// source.
func degradedButAnswering(t *testing.T, f *redisFleet) {
	t.Helper()
	crowd(60, func(i int) { f.get(t, i%2, 3000+i) })
	keys := ints(4001, 4009)
	m, err := f.c[0].GetMany(t.Context(), keys)
	if err != nil || len(m) != len(keys) {
		t.Errorf("GetMany: %d values of %d, %v", len(m), len(keys), err)
	}
}

// A key that holds another Redis type, such as one of an older program, is replaced by the first
// Set and the first load.
func TestSetOverAnotherRedisType(t *testing.T) {
	rdb, prefix := redistest.Start(t).Client(), redistest.Prefix()
	c := with(t, open(t, patient(onRedis(rdb, nil, prefix, 0))), thingConfig{Load: (&source{}).load})
	for k, call := range []func() error{
		func() error { return c.Set(t.Context(), 0, "set") },
		func() error { return errOf(c.GetMany(t.Context(), []int{1, 2})) },
	} {
		name := fmt.Sprint(prefix, ":v:default:things:", k)
		must(t, rdb.LPush(t.Context(), name, "x").Err())
		succeeds(t, call())
		equal(t, rdb.Type(t.Context(), name).Val(), "string", "the type of key %d", k)
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
	cfg := onRedis(rdb, rdb, "app", 0)
	cfg.Logger = slog.New(slog.NewTextHandler(said, nil))
	tiers, err := cache.Open(cfg)
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
	redistest.Eventually(t, "Ready says why it fails", func(ctx context.Context) error { // on a busy machine the answer takes longer
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := tiers.Ready(ctx); err == nil || !strings.Contains(err.Error(), "redislog: the server at "+s.Addr()+" "+reason) || !redis.IsAuthError(err) {
			return fmt.Errorf("Ready = %w, want an error that says the server %s", err, reason)
		}
		return nil
	})
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
	for _, what := range []string{"the log has not answered yet", "invalidations wait for the log or the remote tier"} {
		redistest.Eventually(t, "the log says that "+what, func(context.Context) error { // another goroutine writes that
			if n := says(what); n == 0 {
				return fmt.Errorf("it does not: %s", said.String())
			}
			return nil
		})
		if n := says(what); n != 1 {
			t.Errorf("%d lines say that %s, want one; the log is\n%s", n, what, said.String())
		}
	}
	if n := says(reason); n < 2 || n > 3 { // the breaker may log a third
		t.Errorf("%d lines say that the server %s; the log is\n%s", n, reason, said.String())
	}
}

// hears invalidates each kind of scope in one process. It waits until the other process loads
// the value again, which it does for no other reason.
func (f *redisFleet) hears(t *testing.T) {
	t.Helper()
	for i, scope := range []invalidate.Scope{
		f.c[0].Key(7000), invalidate.Prefix("default", "fleet:v1:70"), invalidate.Tag("default", "even"), invalidate.All(),
	} {
		f.get(t, 1, 7000)
		f.get(t, 1, 7000)
		from, to := i%2, 1-i%2
		redistest.Eventually(t, "an invalidation is written", func(ctx context.Context) error {
			return f.tiers[from].Invalidate(ctx, scope)
		})
		redistest.Eventually(t, fmt.Sprint("process ", to, " hears of ", scope), func(ctx context.Context) error {
			r, err := f.c[to].Fetch(ctx, 7000, nil)
			if err == nil && r.Source != cache.Load {
				err = errors.New("the value came from " + r.Source.String())
			}
			return err
		})
	}
}

// redisCells shows that the cells of many invalidated keys are removed, also for processes that
// do not follow the log.
func redisCells(t *testing.T, f *redisFleet, rdb redis.UniversalClient) {
	t.Helper()
	var scopes []invalidate.Scope
	var keys []int
	for k := 80_000; k < 80_000+2*invalidate.MaxCells+10; k++ {
		scopes, keys = append(scopes, f.c[0].Key(k)), append(keys, k)
	}
	const some = 100
	for i := 0; i < len(keys); i += some {
		end := min(i+some, len(keys))
		redistest.Eventually(t, fmt.Sprint("the first ", end, " values are in Redis"), func(ctx context.Context) error {
			if _, err := f.c[0].GetMany(ctx, keys[i:end]); err != nil {
				return err
			}
			if n := countCells(t, rdb); n < end { // some values are only in this process
				return cmp.Or(f.tiers[0].Invalidate(ctx, scopes[i:end]...), fmt.Errorf("%d cells, want at least %d", n, end))
			}
			return nil
		})
	}
	before := countCells(t, rdb)
	must(t, f.tiers[0].Invalidate(t.Context(), scopes...))
	equal(t, before-countCells(t, rdb), len(keys), "removed cells")
}

func countCells(t *testing.T, rdb redis.UniversalClient) int {
	t.Helper()
	var n atomic.Int64
	count := func(ctx context.Context, c *redis.Client) error {
		keys, err := c.Keys(ctx, "*:v:default:fleet:v1:8*").Result()
		n.Add(int64(len(keys)))
		return err
	}
	var err error
	if c, ok := rdb.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error { return count(ctx, c) })
	} else {
		err = count(t.Context(), rdb.(*redis.Client))
	}
	must(t, err)
	return int(n.Load())
}

// redisSettle shows that after Settle the other process reads a new value.
func redisSettle(t *testing.T, f *redisFleet) {
	t.Helper()
	for _, tiers := range f.tiers {
		must(t, tiers.Ready(t.Context()))
	}
	f.get(t, 1, 7000)
	must(t, f.c[0].Delete(t.Context(), 7000))
	must(t, f.tiers[0].Settle(t.Context()))
	equal(t, f.get(t, 1, 7000), cache.Load, "after Settle the other process got the value from")
}

// TestRedisHungNode pauses one node of a Cluster. Invalidations of keys on the other nodes go on
// as usual. Those of keys on the paused node succeed when it is back.
func TestRedisHungNode(t *testing.T) {
	t.Parallel()
	// A call to the paused node ends after a quarter of the bound. A Delete that waited for one
	// would take about that long. A busy machine may stop a few of thousands for half as long.
	const bound = 4 * time.Second
	cluster := redistest.StartCluster(t, 3, redistest.Args("--cluster-require-full-coverage", "no"))
	prefix, hung := redistest.Prefix(), cluster.Nodes[1]
	cfg := onRedis(cluster.Client(), redistest.Start(t).Client(), prefix, bound)
	cfg.Logger, cfg.InvalidateWait = slog.New(slog.NewTextHandler(t.Output(), nil)), bound/2
	cfg.Policies = policy.Table{{Patch: patch{RemoteTimeout: new(bound)}}}
	remote, tiers := cfg.Remote.(*redistier.Tier), open(t, cfg)
	c := with(t, tiers, thingConfig{Namespace: "fleet:v1"})
	var well, ill []int
	for k := range 60 {
		if cluster.Owner(t, prefix+":v:"+c.Key(k).Text()) == hung {
			ill = append(ill, k)
		} else {
			well = append(well, k)
		}
		redistest.Eventually(t, "a new cluster stores a value", func(ctx context.Context) error {
			return c.Set(ctx, k, fmt.Sprint(k))
		})
	}
	redistest.Eventually(t, "nothing of the set-up is pending", func(context.Context) error { return noneWaits(tiers) })
	hung.Stop(t)
	pending := make(chan error)
	go func() { pending <- c.Delete(t.Context(), ill[0]) }()
	go func() { // a batch with keys on every node
		var scopes []invalidate.Scope
		for _, k := range append(ill[1:], well[0]) {
			scopes = append(scopes, c.Key(k))
		}
		pending <- tiers.Invalidate(t.Context(), scopes...)
	}()
	deadline, slow, n := time.Now().Add(bound+bound/2), 0, 0
	for ; time.Now().Before(deadline); n++ {
		begun := time.Now()
		if err := c.Delete(t.Context(), well[n%len(well)]); err != nil {
			t.Fatalf("Delete of a key on a healthy node = %v after %v", err, time.Since(begun))
		}
		if time.Since(begun) > bound/8 {
			slow++
		}
	}
	if slow*100 > n {
		t.Errorf("%d of %d Deletes of keys on healthy nodes took over %v, want one in a hundred at most", slow, n, bound/8)
	}
	for range 2 {
		err := <-pending
		if _, ok := errors.AsType[*invalidate.PendingError](err); !ok {
			t.Errorf("an invalidation of keys on the paused node = %v, want a PendingError", err)
		}
	}
	equal(t, tiers.Stats().Log.Pending, int64(len(ill)+1), "pending")
	hung.Cont(t)
	redistest.Eventually(t, "the invalidations are sent", func(context.Context) error { return noneWaits(tiers) })
	for _, k := range ill {
		if frame, err := tiercall.Get(t.Context(), remote, c.Key(k).Text()); frame != nil || err != nil {
			t.Errorf("the cell of key %d has %d bytes, %v; want none", k, len(frame), err)
		}
	}
}

func noneWaits(tiers *cache.Tiers) error {
	if n := tiers.Stats().Log.Pending; n > 0 {
		return fmt.Errorf("%d invalidations are pending", n)
	}
	return nil
}
