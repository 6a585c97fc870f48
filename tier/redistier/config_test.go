package redistier_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// wrapper is a client that counts or traces commands, as programs write it.
type wrapper struct{ *redis.Client }

// opaque hides the client it wraps.
type opaque struct{ redis.UniversalClient }

func TestValidateRefuses(t *testing.T) {
	single := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = single.Close() })
	cluster := func(o *redis.ClusterOptions) redis.UniversalClient {
		o.Addrs, o.ContextTimeoutEnabled = []string{"127.0.0.1:1"}, true
		return closed(t, redis.NewClusterClient(o))
	}
	failover := func(o *redis.FailoverOptions) redis.UniversalClient {
		o.MasterName, o.SentinelAddrs, o.ContextTimeoutEnabled = "m", []string{"127.0.0.1:1"}, true
		return closed(t, redis.NewFailoverClusterClient(o))
	}
	auto, err := single.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	ring := closed(t, redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}}))
	for _, tc := range []struct {
		name   string
		rdb    redis.UniversalClient
		prefix string
		want   error
	}{
		{"a sound client", single, "app", nil},
		{"a wrapped client", wrapper{single}, "app", nil},
		{"a cluster", cluster(&redis.ClusterOptions{}), "app", nil},
		{"the longest prefix", single, strings.Repeat("p", redistier.MaxPrefix), nil},
		{"nil", nil, "app", redistier.ErrNoClient},
		{"typed nil", (*redis.Client)(nil), "app", redistier.ErrNoClient},
		{"typed nil cluster", (*redis.ClusterClient)(nil), "app", redistier.ErrNoClient},
		{"wrapped nil", wrapper{}, "app", redistier.ErrNoClient},
		{"opaque", opaque{single}, "app", redistier.ErrClient},
		{"autopipeline", auto, "app", redistier.ErrClient},
		{"ring", ring, "app", redistier.ErrRing},
		{"client-side cache", clientCache(t), "app", redistier.ErrClientCache},
		{"cluster reading from replicas", cluster(&redis.ClusterOptions{ReadOnly: true}), "app", redistier.ErrReplicaReads},
		{"cluster routed by latency", cluster(&redis.ClusterOptions{RouteByLatency: true}), "app", redistier.ErrReplicaReads},
		{"cluster routed randomly", cluster(&redis.ClusterOptions{RouteRandomly: true}), "app", redistier.ErrReplicaReads},
		{"failover cluster", failover(&redis.FailoverOptions{}), "app", nil},
		{"failover cluster of replicas", failover(&redis.FailoverOptions{ReplicaOnly: true}), "app", redistier.ErrReplicaReads},
		{"failover cluster by latency", failover(&redis.FailoverOptions{RouteByLatency: true}), "app", redistier.ErrReplicaReads},
		{"failover cluster random", failover(&redis.FailoverOptions{RouteRandomly: true}), "app", redistier.ErrReplicaReads},
		{"no prefix", single, "", redistier.ErrPrefix},
		{"a long prefix", single, strings.Repeat("p", redistier.MaxPrefix+1), redistier.ErrPrefix},
		{"an opening brace", single, "a{b", redistier.ErrPrefix},
		{"a closing brace", single, "a}b", redistier.ErrPrefix},
		{"a prefix and the start of keys", single, "app:v:acme", redistier.ErrPrefix},
		{"a prefix and the end of its own", single, "app:v", redistier.ErrPrefix},
		{"parts, and one of them begins with v", single, "app:vip:v2", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := redistier.New(tc.rdb, redistier.Config{Prefix: tc.prefix})
			if err := r.Validate(); !errors.Is(err, tc.want) {
				t.Fatalf("Validate = %v, want %v", err, tc.want)
			}
			if tc.want == nil {
				return
			}
			if _, err := tiercall.Get(t.Context(), r, "k"); !errors.Is(err, tc.want) {
				t.Errorf("Get = %v, want %v", err, tc.want)
			}
			if _, err := tiercall.GetMany(t.Context(), r, []string{"k"}); !errors.Is(err, tc.want) {
				t.Errorf("GetMany = %v, want %v", err, tc.want)
			}
		})
	}
}

// Two prefixes must never spell the same name, for any keys. Otherwise a value of one
// cache would be a value of the other.
func TestPrefixesDoNotMeet(t *testing.T) {
	rdb := closed(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true}))
	all := []string{""}
	for from := 0; len(all) < 1000; { // every prefix of these letters, up to six
		for _, p := range all[from:] {
			all = append(all, p+":", p+"v", p+"a")
		}
		from = (len(all) - 1) / 3
	}
	var starts []string
	for _, p := range all {
		r := redistier.New(rdb, redistier.Config{Prefix: p})
		if r.Validate() == nil {
			starts = append(starts, r.Describe(r).Prefix)
		}
	}
	if len(starts) < 500 {
		t.Errorf("%d of %d prefixes are accepted, want most", len(starts), len(all))
	}
	slices.Sort(starts)
	for i, next := range starts[1:] { // a string that starts with starts[i] follows it directly
		if strings.HasPrefix(next, starts[i]) {
			t.Errorf("%q is the start of %q", starts[i], next)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := redistier.New(nil, redistier.Config{}).Validate()
	if !errors.Is(err, redistier.ErrNoClient) || !errors.Is(err, redistier.ErrPrefix) {
		t.Errorf("Validate = %v, want both faults", err)
	}
}

func TestZeroTier(t *testing.T) {
	var r redistier.Tier
	if err := r.Validate(); !errors.Is(err, redistier.ErrNoClient) {
		t.Errorf("Validate = %v, want %v", err, redistier.ErrNoClient)
	}
	if _, err := tiercall.Get(t.Context(), &r, "k"); !errors.Is(err, redistier.ErrNoClient) {
		t.Errorf("Get = %v, want %v", err, redistier.ErrNoClient)
	}
}

func TestValidateAsksBehindSentinel(t *testing.T) {
	group := redistest.StartSentinel(t)
	opts := group.FailoverOptions()
	sound := closed(t, redis.NewFailoverClient(opts))
	if err := redistier.New(sound, redistier.Config{Prefix: "app"}).Validate(); err != nil {
		t.Errorf("Validate behind Sentinel = %v, want nil", err)
	}
	opts.ReplicaOnly = true
	replicas := closed(t, redis.NewFailoverClient(opts))
	if err := redistier.New(replicas, redistier.Config{Prefix: "app"}).Validate(); !errors.Is(err, redistier.ErrReplicaReads) {
		t.Errorf("Validate of a ReplicaOnly client = %v, want %v", err, redistier.ErrReplicaReads)
	}
}

// A program may start while Redis is down.
func TestValidateWithoutServer(t *testing.T) {
	rdb := closed(t, redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}, ContextTimeoutEnabled: true, MaxRetries: -1,
	}))
	if err := redistier.New(rdb, redistier.Config{Prefix: "app"}).Validate(); err != nil {
		t.Errorf("Validate without a Sentinel = %v, want nil", err)
	}
}

func TestNewWarnsOfDeadlines(t *testing.T) {
	for _, tc := range []struct {
		name    string
		enabled bool
		prefix  string
		want    int
	}{
		{"deadlines off", false, "app", 1},
		{"deadlines on", true, "app", 0},
		{"refused anyway", false, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			rdb := closed(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: tc.enabled}))
			cfg := redistier.Config{Prefix: tc.prefix, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			r := redistier.New(rdb, cfg)
			_ = r.Validate()
			if got := strings.Count(log.String(), "ContextTimeoutEnabled"); got != tc.want {
				t.Errorf("%d warnings, want %d:\n%s", got, tc.want, &log)
			}
		})
	}
}

func TestWritesAreChecked(t *testing.T) {
	rdb := closed(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true}))
	r := redistier.New(rdb, redistier.Config{Prefix: "app"})
	ctx, n := t.Context(), tier.NewNonce()
	huge := make([]byte, redistier.MaxCell+1) // never touched, so never in memory
	if _, err := tiercall.Claim(ctx, r, "k", tier.Claim{Lease: time.Second}); !errors.Is(err, tier.ErrNonce) {
		t.Errorf("Claim with the zero nonce = %v, want %v", err, tier.ErrNonce)
	}
	if _, err := tiercall.ClaimMany(ctx, r, []string{"k", "l"}, []tier.Claim{{Nonce: tier.NewNonce()}, {}}); !errors.Is(err, tier.ErrNonce) {
		t.Errorf("ClaimMany with the zero nonce = %v, want %v", err, tier.ErrNonce)
	}
	if _, err := tiercall.Fill(ctx, r, "k", tier.Fill{}); !errors.Is(err, tier.ErrNonce) {
		t.Errorf("Fill with the zero nonce = %v, want %v", err, tier.ErrNonce)
	}
	if _, err := tiercall.Fill(ctx, r, "k", tier.Fill{Nonce: n, Cell: huge}); !errors.Is(err, redistier.ErrTooLarge) {
		t.Errorf("Fill of %d bytes = %v, want %v", len(huge), err, redistier.ErrTooLarge)
	}
	if _, err := tiercall.FillMany(ctx, r, []string{"k", "l"}, []tier.Fill{{Nonce: n}, {Nonce: n, Cell: huge}}); !errors.Is(err, redistier.ErrTooLarge) {
		t.Errorf("FillMany of %d bytes = %v, want %v", len(huge), err, redistier.ErrTooLarge)
	}
}

// closed closes c at the end of the test.
func closed[C redis.UniversalClient](t *testing.T, c C) C {
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func clientCache(t *testing.T) redis.UniversalClient {
	return closed(t, redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, ClientSideCacheConfig: &redis.ClientSideCacheConfig{},
	}))
}
