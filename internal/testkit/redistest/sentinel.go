package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinelName is the name by which the Sentinels watch the master.
const sentinelName = "twofold"

// Sentinel is a master with one replica, watched by three Sentinels. They need two votes, consider
// a server down after 700 ms and fail over within seconds. Replication is asynchronous; writes do
// not wait for the replica.
type Sentinel struct {
	Master    *Server // at the start; see [Sentinel.Current]
	Replica   *Server
	Sentinels []*Server
}

// StartSentinel returns a running group that ends with the test. It waits until all members know
// each other. It always starts its own servers.
func StartSentinel(t testing.TB, opts ...Option) *Sentinel {
	t.Helper()
	needServer(t)
	s := &Sentinel{Master: startServer(t, opts...)}
	s.Replica = startServer(t, slices.Concat(opts, []Option{Args("--replicaof", "127.0.0.1 "+s.Master.Port())})...)
	Eventually(t, "the replica does not connect", func(ctx context.Context) error {
		return wantInfo(ctx, s.Replica, "replication", "master_link_status:up")
	})
	for range 3 {
		s.Sentinels = append(s.Sentinels, startSentinel(t, s.Master.Port()))
	}
	for _, sen := range s.Sentinels {
		Eventually(t, "the Sentinels do not find each other", func(ctx context.Context) error {
			return wantInfo(ctx, sen, "sentinel", "status=ok,address="+s.Master.Addr()+",slaves=1,sentinels=3")
		})
	}
	return s
}

// needServer skips a test that needs more than the one server of REDIS_URL.
func needServer(t testing.TB) {
	t.Helper()
	if os.Getenv("REDIS_URL") == "" {
		return
	}
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	t.Skip("needs several servers; REDIS_URL names one and no redis-server is in the PATH")
}

// startSentinel starts one Sentinel. A Sentinel keeps its state in its configuration file, so it
// needs one.
func startSentinel(t testing.TB, masterPort string) *Server {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	lines := []string{
		"sentinel monitor " + sentinelName + " 127.0.0.1 " + masterPort + " 2",
		"sentinel down-after-milliseconds " + sentinelName + " 700",
		"sentinel failover-timeout " + sentinelName + " 3000",
		"sentinel parallel-syncs " + sentinelName + " 1",
	}
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return launch(t, func(port int) []string {
		return []string{
			conf, "--sentinel", "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
			"--logfile", "redis.log", "--daemonize", "no",
		}
	})
}

// FailoverOptions returns options for a client that follows the master. The caller may change them.
func (s *Sentinel) FailoverOptions() *redis.FailoverOptions {
	o := &redis.FailoverOptions{
		MasterName:            sentinelName,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialTimeout:           2 * time.Second,
		DialerRetries:         1,
		ReadTimeout:           2 * time.Second,
		WriteTimeout:          2 * time.Second,
		DisableIdentity:       true,
	}
	for _, sen := range s.Sentinels {
		o.SentinelAddrs = append(o.SentinelAddrs, sen.Addr())
	}
	return o
}

// Current returns the server that most Sentinels now consider the master, or an error if they do
// not agree.
func (s *Sentinel) Current(ctx context.Context) (*Server, error) {
	votes := map[string]int{}
	for _, sen := range s.Sentinels {
		got, err := sen.admin.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelName).StringSlice()
		if err != nil || len(got) != 2 {
			continue // a Sentinel that is down does not vote
		}
		votes[got[1]]++
	}
	for _, srv := range []*Server{s.Master, s.Replica} {
		if votes[srv.Port()] >= 2 {
			return srv, nil
		}
	}
	return nil, fmt.Errorf("redistest: the Sentinels do not agree on the master; votes by port: %v", votes)
}

// Failover makes the Sentinels promote the replica of a healthy master, and waits until most of
// them name it.
func (s *Sentinel) Failover(t testing.TB) {
	t.Helper()
	old, err := s.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the Sentinel does not begin a failover", func(ctx context.Context) error {
		// It refuses during the last failover, and until it has seen the replica.
		return s.Sentinels[0].admin.Do(ctx, "SENTINEL", "FAILOVER", sentinelName).Err()
	})
	Eventually(t, "no failover", func(ctx context.Context) error {
		now, err := s.Current(ctx)
		if err == nil && now == old {
			err = errors.New("redistest: the old master is still the master")
		}
		return err
	})
}

// wantInfo checks that a section of INFO contains a text.
func wantInfo(ctx context.Context, s *Server, section, want string) error {
	info, err := s.admin.Info(ctx, section).Result()
	if err == nil && !strings.Contains(info, want) {
		err = fmt.Errorf("redistest: INFO %s of port %s has no %s:\n%s", section, s.Port(), want, info)
	}
	return err
}
