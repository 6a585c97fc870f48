package redistest_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

func TestServer(t *testing.T) {
	s := redistest.Start(t)
	rdb := s.Client()
	key := redistest.Prefix() + "k"
	if err := rdb.Set(t.Context(), key, "v", time.Minute).Err(); err != nil {
		t.Fatalf("SET = %v", err)
	}
	if got := s.Do(t, "GET", key); got != "v" {
		t.Errorf("Do(GET) = %v, want v", got)
	}
	if got := s.Do(t, "GET", key+"none"); got != nil {
		t.Errorf("Do(GET) of nothing = %v, want nil", got)
	}
}

func TestServerFaults(t *testing.T) {
	s := redistest.Start(t)
	rdb := s.Client()
	ping := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return rdb.Ping(ctx).Err()
	}
	addr := s.Addr()
	s.Stop(t)
	if err := ping(); err == nil {
		t.Errorf("a paused server answers")
	}
	s.Cont(t)
	redistest.Eventually(t, "the server does not go on", func(context.Context) error { return ping() })
	s.Kill(t)
	if err := ping(); err == nil {
		t.Errorf("a killed server answers")
	}
	s.Restart(t)
	if s.Addr() != addr {
		t.Errorf("Addr() after Restart = %s, want %s", s.Addr(), addr)
	}
	redistest.Eventually(t, "the server does not come back", func(context.Context) error { return ping() })
	s.Stop(t) // the cleanup must cope with a paused server
}

func TestServerArgs(t *testing.T) {
	s := redistest.Start(t, redistest.Args("--maxmemory", "3mb"))
	if got := s.Client().ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "3145728" {
		t.Errorf("maxmemory = %s, want 3145728", got)
	}
}

func TestSentinelFailsOver(t *testing.T) {
	s := redistest.StartSentinel(t)
	rdb := redis.NewFailoverClient(s.FailoverOptions())
	defer rdb.Close()
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatalf("SET = %v", err)
	}
	if got, err := s.Current(t.Context()); got != s.Master || err != nil {
		t.Fatalf("Current() = %v, %v; want the master", got, err)
	}
	s.Master.Kill(t)
	redistest.Eventually(t, "no failover", func(ctx context.Context) error {
		got, err := s.Current(ctx)
		if err == nil && got != s.Replica {
			err = errors.New("still the old master")
		}
		return err
	})
	redistest.Eventually(t, "the client does not follow", func(ctx context.Context) error {
		return rdb.Set(ctx, "k", "w", 0).Err()
	})
}

func TestCluster(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	rdb := c.Client()
	owners := map[*redistest.Server]bool{}
	for key := range strings.SplitSeq("abcdefghijklmnop", "") {
		if err := rdb.Set(t.Context(), key, "v", 0).Err(); err != nil {
			t.Fatalf("SET = %v", err)
		}
		owner := c.Owner(t, key)
		owners[owner] = true
		if got := owner.Do(t, "GET", key); got != "v" {
			t.Errorf("the owner of %s holds %v", key, got)
		}
	}
	if len(owners) != 3 {
		t.Errorf("16 keys have %d owners, want 3", len(owners))
	}
	c.Nodes[1].Kill(t)
	c.Nodes[1].Restart(t)
	c.WaitOK(t)
}

// A replica takes over its master's slots, and gives them back.
func TestClusterTakeover(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	master := c.Nodes[1]
	replica := c.AddReplica(t, master)
	for _, s := range []*redistest.Server{replica, master} {
		s.Do(t, "CLUSTER", "FAILOVER", "TAKEOVER")
		c.WaitOK(t)
		if info := s.Client().Info(t.Context(), "replication").Val(); !strings.Contains(info, "role:master") {
			t.Fatalf("INFO replication after a takeover = %s, want a master", info)
		}
		redistest.Eventually(t, "the other does not follow", func(ctx context.Context) error {
			info, err := s.Client().Info(ctx, "replication").Result()
			if err == nil && !strings.Contains(info, "state=online") {
				err = errors.New(info)
			}
			return err
		})
	}
}

func TestSentinelFailover(t *testing.T) {
	s := redistest.StartSentinel(t)
	s.Failover(t)
	if got, err := s.Current(t.Context()); got != s.Replica || err != nil {
		t.Errorf("Current() = %v, %v; want the replica", got, err)
	}
}

func TestProxy(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	opts := s.Options()
	opts.Addr = p.Addr()
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	ping := func() (time.Duration, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start := time.Now()
		err := rdb.Ping(ctx).Err()
		return time.Since(start), err
	}
	works := func(context.Context) error { _, err := ping(); return err }
	redistest.Eventually(t, "pass", works)

	p.BlackHole()
	if took, err := ping(); err == nil || took < 400*time.Millisecond {
		t.Errorf("black hole: %v after %v, want an error at the deadline", err, took)
	}
	p.Pass()
	redistest.Eventually(t, "pass after a black hole", works)

	p.Drop()
	if _, err := ping(); err == nil {
		t.Errorf("drop: nil, want an error")
	}
	p.Pass()
	redistest.Eventually(t, "pass after drop", works)

	p.Garbage([]byte("?what\r\n"))
	if _, err := ping(); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("garbage: %v, want a protocol error", err)
	}
	p.Pass()
	redistest.Eventually(t, "pass after garbage", works)

	p.Delay(100 * time.Millisecond)
	if took, err := ping(); err != nil || took < 100*time.Millisecond {
		t.Errorf("delay: %v after %v, want nil after 100 ms", err, took)
	}
	p.Retarget("127.0.0.1:1")
	p.Drop()
	p.Pass()
	if _, err := ping(); err == nil {
		t.Errorf("retarget to a closed port: nil, want an error")
	}
	p.Retarget(s.Addr())
	redistest.Eventually(t, "retarget back", works)
}

// A proxy without its server must still swallow bytes and answer with garbage.
func TestProxyWithoutServer(t *testing.T) {
	p := redistest.NewProxy(t, "127.0.0.1:1")
	p.Garbage([]byte("hello"))
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 5)
	_, _ = c.Write([]byte("x"))
	if _, err := c.Read(buf); err != nil || string(buf) != "hello" {
		t.Errorf("read %q, %v; want hello", buf, err)
	}
	p.Pass()
	_, _ = c.Write([]byte("x"))
	if _, err := c.Read(buf); err == nil {
		t.Errorf("a connection without a server stays open in mode pass")
	}
}
