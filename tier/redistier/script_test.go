package redistier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

// A server forgets scripts when it restarts, fails over or runs SCRIPT FLUSH.
func TestScriptsAreForgotten(t *testing.T) {
	single := redistest.Start(t, redistest.Args("--maxmemory", "0")) // a server of its own: the test must not flush the scripts of other tests
	nodes := redistest.StartCluster(t, 3)
	for _, tc := range []struct {
		name    string
		rdb     redis.UniversalClient
		servers []*redistest.Server
	}{
		{"single", single.Client(), []*redistest.Server{single}},
		{"cluster", nodes.Client(), nodes.Nodes},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTier(t, tc.rdb)
			flush := func() {
				for _, s := range tc.servers {
					s.Do(t, "SCRIPT", "FLUSH")
				}
			}
			flush()
			n := tier.NewNonce()
			if got, err := r.Claim(t.Context(), "k", tier.Claim{Nonce: n, Lease: time.Minute}); !got.Granted || err != nil {
				t.Errorf("Claim = %v, %v; want granted", got.Granted, err)
			}
			flush()
			if ok, err := r.Fill(t.Context(), "k", tier.Fill{Nonce: n, Cell: frame(t, n), TTL: time.Minute}); !ok || err != nil {
				t.Errorf("Fill = %v, %v; want true", ok, err)
			}
			wantBatch(t, r, flush)
		})
	}
}

// wantBatch claims, fills and releases many keys. The scripts are flushed before each step.
func wantBatch(t *testing.T, r *redistier.Tier, flush func()) {
	t.Helper()
	var keys []string
	var claims []tier.Claim
	var fills []tier.Fill
	for i := range 60 {
		n := tier.NewNonce()
		keys = append(keys, fmt.Sprint("key", i))
		claims = append(claims, tier.Claim{Nonce: n, Lease: time.Minute})
		fills = append(fills, tier.Fill{Nonce: n, Cell: frame(t, n), TTL: time.Minute})
		if i%3 == 0 {
			fills[i].Cell = nil // another script in the same pipeline
		}
	}
	flush()
	claimed, err := r.ClaimMany(t.Context(), keys, claims)
	if err != nil {
		t.Fatalf("ClaimMany = %v", err)
	}
	flush()
	filled, err := r.FillMany(t.Context(), keys, fills)
	if err != nil {
		t.Fatalf("FillMany = %v", err)
	}
	got, err := r.GetMany(t.Context(), keys)
	if err != nil {
		t.Fatalf("GetMany = %v", err)
	}
	for i := range keys {
		if !claimed[i].Granted || !filled[i] || (got[i] == nil) != (i%3 == 0) {
			t.Errorf("key %d: claimed %v, filled %v, frame of %d bytes", i, claimed[i].Granted, filled[i], len(got[i]))
		}
	}
}

func TestWrongTypeFailsAlone(t *testing.T) {
	single := redistest.Start(t).Client()
	cluster := redistest.StartCluster(t, 3).Client()
	for name, rdb := range map[string]redis.UniversalClient{"single": single, "cluster": cluster} {
		t.Run(name, func(t *testing.T) {
			prefix := redistest.Prefix()
			r := redistier.New(rdb, redistier.Config{Prefix: prefix})
			store(t, r, "a")
			store(t, r, "c")
			if err := rdb.LPush(t.Context(), prefix+":v:b", "foreign").Err(); err != nil {
				t.Fatalf("LPUSH = %v", err)
			}
			got, err := r.GetMany(t.Context(), []string{"a", "b", "c"})
			if got[0] == nil || got[1] != nil || got[2] == nil {
				t.Errorf("GetMany = %d, %d, %d bytes; want only the second to be none", len(got[0]), len(got[1]), len(got[2]))
			}
			if name == "cluster" && (err == nil || !strings.Contains(err.Error(), "WRONGTYPE")) {
				t.Errorf("GetMany = %v, want WRONGTYPE", err)
			}
			n := tier.NewNonce()
			c := tier.Claim{Nonce: n, Lease: time.Minute}
			renewal := tier.Claim{Nonce: n, Seen: n, Lease: time.Minute}
			refresh := tier.Claim{Nonce: n, Lease: time.Minute, Refresh: true}
			for _, c := range []tier.Claim{renewal, refresh} {
				if got, err := r.Claim(t.Context(), "b", c); got.Granted || err != nil {
					t.Errorf("%+v of another type = %+v, %v; want it refused", c, got, err)
				}
			}
			claimed, err := r.ClaimMany(t.Context(), []string{"b", "new"}, []tier.Claim{c, c})
			if !claimed[0].Granted || !claimed[1].Granted || err != nil {
				t.Errorf("ClaimMany = %v, %v; want both granted", claimed, err)
			}
			if err := rdb.Del(t.Context(), prefix+":v:b").Err(); err != nil {
				t.Fatal(err)
			}
			if err := rdb.LPush(t.Context(), prefix+":v:b", "foreign").Err(); err != nil {
				t.Fatal(err)
			}
			if err := r.Unlink(t.Context(), "b"); err != nil {
				t.Errorf("Unlink of a foreign type = %v, want nil", err)
			}
		})
	}
}

// The layout in Redis is a contract with other versions of this library.
func TestKeyAndLifetime(t *testing.T) {
	rdb := redistest.Start(t).Client()
	prefix := redistest.Prefix()
	r := redistier.New(rdb, redistier.Config{Prefix: prefix})
	n := store(t, r, "tenant:users:42")
	key := prefix + ":v:tenant:users:42"
	got, err := rdb.Get(t.Context(), key).Result()
	if err != nil || got != string(frame(t, n)) {
		t.Errorf("GET %s = %q, %v; want the frame", key, got, err)
	}
	if ttl := rdb.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Minute {
		t.Errorf("PTTL = %v, want about a minute", ttl)
	}
}

// A hit costs the GET of the client library and the name of the cell.
func TestGetAllocations(t *testing.T) {
	rdb := redistest.Start(t).Client()
	prefix := redistest.Prefix()
	r := redistier.New(rdb, redistier.Config{Prefix: prefix})
	store(t, r, "k")
	ctx, name := t.Context(), prefix+":v:k"
	bare := testing.AllocsPerRun(500, func() { _, _ = rdb.Get(ctx, name).Bytes() })
	got := testing.AllocsPerRun(500, func() { _, _ = r.Get(ctx, "k") })
	if got > bare+1 {
		t.Errorf("Get allocates %v times, the client library %v; want one more at most", got, bare)
	}
}
