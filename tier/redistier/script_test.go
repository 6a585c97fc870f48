package redistier_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
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
			if got, err := tiercall.Claim(t.Context(), r, "k", tier.Claim{Nonce: n, Lease: time.Minute}); !got.Granted || err != nil {
				t.Errorf("Claim = %v, %v; want granted", got.Granted, err)
			}
			flush()
			if ok, err := tiercall.Fill(t.Context(), r, "k", tier.Fill{Nonce: n, Cell: frame(t, n), TTL: time.Minute}); !ok || err != nil {
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
	claimed, err := tiercall.ClaimMany(t.Context(), r, keys, claims)
	if err != nil {
		t.Fatalf("ClaimMany = %v", err)
	}
	flush()
	filled, err := tiercall.FillMany(t.Context(), r, keys, fills)
	if err != nil {
		t.Fatalf("FillMany = %v", err)
	}
	got, err := tiercall.GetMany(t.Context(), r, keys)
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
			got, err := tiercall.GetMany(t.Context(), r, []string{"a", "b", "c"})
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
				if got, err := tiercall.Claim(t.Context(), r, "b", c); got.Granted || err != nil {
					t.Errorf("%+v of another type = %+v, %v; want it refused", c, got, err)
				}
			}
			claimed, err := tiercall.ClaimMany(t.Context(), r, []string{"b", "new"}, []tier.Claim{c, c})
			if !claimed[0].Granted || !claimed[1].Granted || err != nil {
				t.Errorf("ClaimMany = %v, %v; want both granted", claimed, err)
			}
			if err := rdb.Del(t.Context(), prefix+":v:b").Err(); err != nil {
				t.Fatal(err)
			}
			if err := rdb.LPush(t.Context(), prefix+":v:b", "foreign").Err(); err != nil {
				t.Fatal(err)
			}
			if err := tiercall.Remove(t.Context(), r, "b"); err != nil {
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
	keys, frames := []string{"k"}, make([][]byte, 1)
	got := testing.AllocsPerRun(500, func() { _ = r.Get(ctx, keys, frames) })
	if got > bare+1 {
		t.Errorf("Get allocates %v times, the client library %v; want one more at most", got, bare)
	}
}

// On a single server a batch is one command for each script, within the limits of a run.
func TestBatchesAreFewCommands(t *testing.T) {
	s := redistest.Start(t, redistest.Args("--maxmemory", "0")) // a server of its own: others must not count
	r := redistier.New(s.Client(), redistier.Config{Prefix: "p"})
	scripts := func() int {
		n := 0
		for line := range strings.Lines(fmt.Sprint(s.Do(t, "INFO", "commandstats"))) {
			if _, rest, ok := strings.Cut(line, "cmdstat_eval"); ok {
				_, rest, _ = strings.Cut(rest, "calls=")
				calls, _, _ := strings.Cut(rest, ",")
				c, err := strconv.Atoi(calls)
				if err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				n += c
			}
		}
		return n
	}
	for _, tc := range []struct {
		keys, size, released int
		claims, fills        int // commands
	}{
		{100, 100, 0, 1, 1},
		{100, 100, 50, 1, 2},
		{300, 100, 0, 3, 3},
		{5, 512 << 10, 0, 1, 3},
		{3, 2 << 20, 0, 1, 3},
		{1, 100, 0, 1, 1},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes", tc.keys, tc.size), func(t *testing.T) {
			for _, round := range []string{"first", "second"} { // in the first the server does not know the scripts
				var keys []string
				var claims []tier.Claim
				var fills []tier.Fill
				for i := range tc.keys {
					n := tier.NewNonce()
					keys = append(keys, fmt.Sprint(tc, round, i))
					claims = append(claims, tier.Claim{Nonce: n, Lease: time.Minute})
					fills = append(fills, tier.Fill{Nonce: n, Cell: make([]byte, tc.size), TTL: time.Minute})
					copy(fills[i].Cell, frame(t, n))
					if i < tc.released {
						fills[i].Cell = nil
					}
				}
				before := scripts()
				claimed, err := tiercall.ClaimMany(t.Context(), r, keys, claims)
				between := scripts()
				filled, err2 := tiercall.FillMany(t.Context(), r, keys, fills)
				after := scripts()
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				for i := range keys {
					if !claimed[i].Granted || !filled[i] {
						t.Errorf("key %d: claimed %v, filled %v", i, claimed[i].Granted, filled[i])
					}
				}
				if round == "second" && (between-before != tc.claims || after-between != tc.fills) {
					t.Errorf("%d and %d commands, want %d and %d", between-before, after-between, tc.claims, tc.fills)
				}
			}
		})
	}
}

// An error at one key of a run is that key's error.
func TestOneKeyOfARunFails(t *testing.T) {
	s := redistest.Start(t)
	rdb, prefix := s.Client(), redistest.Prefix()
	r := redistier.New(rdb, redistier.Config{Prefix: prefix})
	if err := rdb.LPush(t.Context(), prefix+":v:b", "foreign").Err(); err != nil {
		t.Fatal(err)
	}
	n := tier.NewNonce()
	keys := []string{"a", "b", "c"}
	c := tier.Claim{Nonce: n, Lease: time.Minute}
	for _, key := range []string{"a", "c"} {
		if got, err := tiercall.Claim(t.Context(), r, key, c); err != nil || !got.Granted {
			t.Fatalf("Claim = %v, %v", got, err)
		}
	}
	f := tier.Fill{Nonce: n, Cell: frame(t, n), TTL: time.Minute}
	for i, fill := range []tier.Fill{f, {Nonce: n}} { // the second releases
		ok, err := tiercall.FillMany(t.Context(), r, keys, []tier.Fill{fill, fill, fill})
		if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") || !ok[0] || ok[1] || !ok[2] {
			t.Errorf("batch %d: %v, %v; want WRONGTYPE for the second key only", i, ok, err)
		}
	}
}

// refusal is a hook that answers SET with an error of the server.
type refusal struct {
	text  string
	asked int
}

func (*refusal) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*refusal) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *refusal) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "set" {
			return next(ctx, cmd)
		}
		r.asked++
		cmd.SetErr(serverError(r.text))
		return cmd.Err()
	}
}

type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// Where the server does not know SET with NX and GET, or does not write, Look is a Get.
func TestLookWithoutSet(t *testing.T) {
	for _, tc := range []struct {
		text  string
		asked int // SETs of five looks
	}{
		{"ERR syntax error", 1}, // an old server, which stays one
		{"OOM command not allowed when used memory > 'maxmemory'.", 5},
		{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", 5},
	} {
		t.Run(tc.text[:3], func(t *testing.T) {
			rdb := redistest.Start(t).Client()
			r := redistier.New(rdb, redistier.Config{Prefix: redistest.Prefix()})
			n := store(t, r, "there")
			hook := &refusal{text: tc.text}
			rdb.AddHook(hook)
			for i := range 5 {
				key, want := "there", frame(t, n)
				if i%2 == 1 {
					key, want = "gone", nil
				}
				got, err := tiercall.Look(t.Context(), r, key, tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute})
				if err != nil || got.Granted || string(got.Cell) != string(want) {
					t.Errorf("Look of %s = %v, %d bytes, %v; want what Get returns", key, got.Granted, len(got.Cell), err)
				}
			}
			if hook.asked != tc.asked {
				t.Errorf("%d SETs, want %d", hook.asked, tc.asked)
			}
		})
	}
}

// A Look of a key of another Redis type fails like a Get.
func TestLookOfAnotherType(t *testing.T) {
	rdb, prefix := redistest.Start(t).Client(), redistest.Prefix()
	r := redistier.New(rdb, redistier.Config{Prefix: prefix})
	if err := rdb.LPush(t.Context(), prefix+":v:b", "foreign").Err(); err != nil {
		t.Fatal(err)
	}
	got, err := tiercall.Look(t.Context(), r, "b", tier.Claim{Nonce: tier.NewNonce(), Lease: time.Minute})
	if _, want := tiercall.Get(t.Context(), r, "b"); err == nil || want == nil || got.Granted || got.Cell != nil {
		t.Errorf("Look = %+v, %v; Get = %v; want two errors", got, err, want)
	}
}
