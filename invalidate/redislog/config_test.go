package redislog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// wrapper is a client that counts or traces commands, as programs write it.
type wrapper struct{ *redis.Client }

// opaque hides the client it wraps.
type opaque struct{ redis.UniversalClient }

const nowhere = "127.0.0.1:1"

func TestClients(t *testing.T) {
	t.Parallel()
	single := closed(t, redis.NewClient(&redis.Options{Addr: nowhere}))
	cluster := func(change func(o *redis.ClusterOptions)) redis.UniversalClient {
		o := &redis.ClusterOptions{Addrs: []string{nowhere}}
		change(o)
		return closed(t, redis.NewClusterClient(o))
	}
	failover := &redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{nowhere}}
	toReplicas := &redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{nowhere}, ReplicaOnly: true}
	auto, err := single.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	caching := closed(t, redis.NewClient(&redis.Options{Addr: nowhere, ClientSideCacheConfig: &redis.ClientSideCacheConfig{}}))
	for _, tc := range []struct {
		name string
		rdb  redis.UniversalClient
		want error
	}{
		{"single", single, nil},
		{"wrapped", wrapper{single}, nil},
		{"failover", closed(t, redis.NewFailoverClient(failover)), nil},
		{"cluster", cluster(func(*redis.ClusterOptions) {}), nil},
		{"failover cluster", closed(t, redis.NewFailoverClusterClient(failover)), nil},
		{"nil", nil, redislog.ErrNoClient},
		{"typed nil", (*redis.Client)(nil), redislog.ErrNoClient},
		{"typed nil cluster", (*redis.ClusterClient)(nil), redislog.ErrNoClient},
		{"wrapped nil", wrapper{}, redislog.ErrNoClient},
		{"opaque", opaque{single}, redislog.ErrClient},
		{"autopipeline", auto, redislog.ErrClient},
		{"ring", closed(t, redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": nowhere}})), redislog.ErrRing},
		{"client-side cache", caching, redislog.ErrClientCache},
		{"replicas", cluster(func(o *redis.ClusterOptions) { o.ReadOnly = true }), redislog.ErrReplicaReads},
		{"by latency", cluster(func(o *redis.ClusterOptions) { o.RouteByLatency = true }), redislog.ErrReplicaReads},
		{"random", cluster(func(o *redis.ClusterOptions) { o.RouteRandomly = true }), redislog.ErrReplicaReads},
		{"failover cluster of replicas", closed(t, redis.NewFailoverClusterClient(toReplicas)), redislog.ErrReplicaReads},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantRefused(t, redislog.New(tc.rdb, redislog.Config{Prefix: "app"}), tc.want)
		})
	}
}

// wantRefused checks that every call reports want; nil for a valid log.
func wantRefused(t *testing.T, l *redislog.Log, want error) {
	t.Helper()
	defer func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}()
	if err := l.Validate(); !errors.Is(err, want) || (want == nil) != (err == nil) {
		t.Fatalf("Validate = %v, want %v", err, want)
	}
	if l.Bound() <= 0 {
		t.Errorf("Bound = %v, want more than 0", l.Bound())
	}
	if want == nil {
		return
	}
	if _, err := l.Sync(t.Context(), invalidate.Cursor{}, both(1)); !errors.Is(err, want) {
		t.Errorf("Sync = %v, want %v", err, want)
	}
	if _, err := l.Tail(t.Context(), invalidate.Cursor{}); !errors.Is(err, want) {
		t.Errorf("Tail = %v, want %v", err, want)
	}
}

func TestConfigs(t *testing.T) {
	t.Parallel()
	rdb := closed(t, redis.NewClient(&redis.Options{Addr: nowhere}))
	for _, tc := range []struct {
		name string
		cfg  redislog.Config
		want error
	}{
		{"defaults", redislog.Config{}, nil},
		{"longest prefix", redislog.Config{Prefix: strings.Repeat("p", redislog.MaxPrefix)}, nil},
		{"long prefix", redislog.Config{Prefix: strings.Repeat("p", redislog.MaxPrefix+1)}, redislog.ErrPrefix},
		{"opening brace", redislog.Config{Prefix: "a{b"}, redislog.ErrPrefix},
		{"closing brace", redislog.Config{Prefix: "a}b"}, redislog.ErrPrefix},
		{"shortest bound", redislog.Config{Bound: redislog.MinBound}, nil},
		{"longest bound", redislog.Config{Bound: redislog.MaxBound}, nil},
		{"short bound", redislog.Config{Bound: redislog.MinBound - 1}, redislog.ErrBound},
		{"long bound", redislog.Config{Bound: redislog.MaxBound + 1}, redislog.ErrBound},
		{"negative bound", redislog.Config{Bound: -time.Second}, redislog.ErrBound},
		{"few keys", redislog.Config{KeyRetention: redislog.MinRetention - 1}, redislog.ErrRetention},
		{"negative scopes", redislog.Config{ScopeRetention: -1}, redislog.ErrRetention},
		{"many scopes", redislog.Config{ScopeRetention: redislog.MaxRetention + 1}, redislog.ErrRetention},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.cfg.Prefix == "" {
				tc.cfg.Prefix = "app"
			}
			wantRefused(t, redislog.New(rdb, tc.cfg), tc.want)
		})
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	t.Parallel()
	err := redislog.New(nil, redislog.Config{Bound: 1, KeyRetention: -1, ScopeRetention: -1}).Validate()
	for _, want := range []error{redislog.ErrNoClient, redislog.ErrPrefix, redislog.ErrBound, redislog.ErrRetention} {
		if !errors.Is(err, want) {
			t.Errorf("Validate = %v, want %v in it", err, want)
		}
	}
}

func TestZeroLog(t *testing.T) {
	t.Parallel()
	wantRefused(t, new(redislog.Log), redislog.ErrNoClient)
}

// The log's own client does not depend on the caller's client and does not change it.
func TestCallersClient(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rdb := r.server.Client()
	before := *rdb.Options()
	p := r.open(rdb)
	p.sync(both(1))
	if after := *rdb.Options(); after.PoolSize != before.PoolSize || after.ReadTimeout != before.ReadTimeout ||
		after.PipelinePoolSize != before.PipelinePoolSize || after.MaintNotificationsConfig != before.MaintNotificationsConfig {
		t.Errorf("the caller's options are changed from %+v to %+v", before, after)
	}
	if n := rdb.PoolStats().TotalConns; n != 0 {
		t.Errorf("the caller's client has %d connections, want none", n)
	}
	if err := rdb.Close(); err != nil {
		t.Fatal(err)
	}
	p.sync(both(2))
}

func TestBoundIsShared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tc := range []struct{ mine, want time.Duration }{ // a call takes a quarter of mine at most
		{20 * time.Second, 20 * time.Second},
		{10*time.Second + 1, 20 * time.Second},
		{50*time.Second + 1, 50_001 * time.Millisecond}, // rounded up
		{20 * time.Second, 50_001 * time.Millisecond},
	} {
		l := newLog(t, r.server.Client(), redislog.Config{Prefix: r.prefix, Bound: tc.mine})
		page, err := l.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
		if err != nil || page.Bound != tc.want || l.Bound() != tc.mine {
			t.Errorf("Sync of %v: Bound = %v, %v; want %v", tc.mine, page.Bound, err, tc.want)
		}
	}
	for _, nonsense := range []string{"x", "-1", "inf", "1e30", "99999999999"} {
		r.do("HSET", r.m, "b", nonsense)
		p := r.process()
		if page := p.sync(invalidate.Append{}); page.Bound > redislog.MaxBound || page.Bound < 0 {
			t.Errorf("Bound = %v where the hash has %s, want at most %v", page.Bound, nonsense, redislog.MaxBound)
		}
	}
}

func TestTwoLogsOfOneServer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := rigOn(t, s).started(1), rigOn(t, s).started(1)
	a.wantQuiet()
	b.wantQuiet()
}
