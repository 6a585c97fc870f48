package redistier_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// newTier returns a valid tier with its own prefix.
func newTier(t testing.TB, rdb redis.UniversalClient) *redistier.Tier {
	t.Helper()
	r := redistier.New(rdb, redistier.Config{Prefix: redistest.Prefix()})
	if err := r.Validate(); err != nil {
		t.Fatalf("Validate = %v", err)
	}
	return r
}

func conformance(t *testing.T, rdb redis.UniversalClient) {
	tiertest.TestRemote(t, func(t *testing.T) tier.Remote { return newTier(t, rdb) })
}

func TestSingle(t *testing.T) { conformance(t, redistest.Start(t).Client()) }

func TestSingleRESP2(t *testing.T) {
	opts := redistest.Start(t).Options()
	opts.Protocol = 2
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	conformance(t, rdb)
}

func TestSentinel(t *testing.T) {
	rdb := redis.NewFailoverClient(redistest.StartSentinel(t).FailoverOptions())
	t.Cleanup(func() { _ = rdb.Close() })
	conformance(t, rdb)
}

func TestCluster(t *testing.T) { conformance(t, redistest.StartCluster(t, 3).Client()) }
