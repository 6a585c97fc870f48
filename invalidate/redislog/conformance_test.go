package redislog_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/invalidate/redislog"
)

// newLog returns a valid log that the test closes at its end.
func newLog(t testing.TB, rdb redis.UniversalClient, cfg redislog.Config) *redislog.Log {
	t.Helper()
	l := redislog.New(rdb, cfg)
	if err := l.Validate(); err != nil {
		t.Fatalf("Validate = %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return l
}

// patient is a Bound that lets a call take two seconds. The default allows half a second, and a server
// on a busy machine may need longer. After such an error the suite cannot know what was appended.
const patient = 8 * time.Second

func conformance(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	logtest.TestLog(t, func(t *testing.T) func() invalidate.Log {
		prefix := redistest.Prefix()
		return func() invalidate.Log {
			return newLog(t, rdb, redislog.Config{Prefix: prefix, Bound: patient})
		}
	})
}

func TestSingle(t *testing.T) {
	t.Parallel()
	conformance(t, redistest.Start(t).Client())
}

func TestSingleRESP2(t *testing.T) {
	t.Parallel()
	opts := redistest.Start(t).Options()
	opts.Protocol = 2
	conformance(t, closed(t, redis.NewClient(opts)))
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	conformance(t, closed(t, redis.NewFailoverClient(redistest.StartSentinel(t).FailoverOptions())))
}

func TestFailoverCluster(t *testing.T) {
	t.Parallel()
	conformance(t, closed(t, redis.NewFailoverClusterClient(redistest.StartSentinel(t).FailoverOptions())))
}

func TestCluster(t *testing.T) {
	t.Parallel()
	conformance(t, redistest.StartCluster(t, 3).Client())
}

// closed closes c at the end of the test.
func closed[C redis.UniversalClient](t testing.TB, c C) C {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	return c
}
