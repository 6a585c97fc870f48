package redistier_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/redistier"
)

const (
	deadline = 300 * time.Millisecond
	ample    = 10 * time.Second // of calls that must succeed
	// grace is the delay that a busy machine may add to a deadline.
	grace = 700 * time.Millisecond
)

// store stores a value under key.
func store(t *testing.T, r *redistier.Tier, key string) tier.Nonce {
	t.Helper()
	n := tier.NewNonce()
	if got, err := tiercall.Claim(t.Context(), r, key, tier.Claim{Nonce: n, Lease: time.Minute}); !got.Granted || err != nil {
		t.Fatalf("Claim = %v, %v", got.Granted, err)
	}
	if ok, err := tiercall.Fill(t.Context(), r, key, tier.Fill{Nonce: n, Cell: frame(t, n), TTL: time.Minute}); !ok || err != nil {
		t.Fatalf("Fill = %v, %v", ok, err)
	}
	return n
}

func frame(t testing.TB, n tier.Nonce) []byte {
	t.Helper()
	c := tier.Cell{Nonce: n, Codec: "raw", Payload: []byte("secret payload")}
	b, err := c.Encode()
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	return b
}

// ops gives every operation limit and returns their errors by name.
func ops(t *testing.T, r *redistier.Tier, limit time.Duration) map[string]error {
	t.Helper()
	n := tier.NewNonce()
	keys := []string{"a", "b", "c", "d"}
	claim, fill := tier.Claim{Nonce: n, Lease: time.Minute}, tier.Fill{Nonce: n, Cell: frame(t, n), TTL: time.Minute}
	errs := map[string]error{}
	for name, call := range map[string]func(ctx context.Context) error{
		"get":     func(ctx context.Context) error { _, err := tiercall.Get(ctx, r, "a"); return err },
		"claim":   func(ctx context.Context) error { _, err := tiercall.Claim(ctx, r, "a", claim); return err },
		"fill":    func(ctx context.Context) error { _, err := tiercall.Fill(ctx, r, "a", fill); return err },
		"release": func(ctx context.Context) error { _, err := tiercall.Fill(ctx, r, "a", tier.Fill{Nonce: n}); return err },
		"remove":  func(ctx context.Context) error { return tiercall.Remove(ctx, r, keys...) },
		"get many": func(ctx context.Context) error {
			_, err := tiercall.GetMany(ctx, r, keys)
			return err
		},
		"claim many": func(ctx context.Context) error {
			_, err := tiercall.ClaimMany(ctx, r, keys, []tier.Claim{claim, claim, claim, claim})
			return err
		},
		"fill many": func(ctx context.Context) error {
			_, err := tiercall.FillMany(ctx, r, keys, []tier.Fill{fill, fill, fill, fill})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		errs[name] = redistest.Within(t, fmt.Sprintf("%s with a deadline of %v", name, limit), limit+grace, func() error { return call(ctx) })
		cancel()
	}
	return errs
}

func wantAllFail(t *testing.T, r *redistier.Tier) {
	t.Helper()
	for name, err := range ops(t, r, deadline) {
		if err == nil {
			t.Errorf("%s = nil, want an error", name)
		} else if !strings.HasPrefix(err.Error(), "redistier: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error text %q", name, err)
		}
	}
}

// alive returns a call that succeeds when the server answers.
func alive(r *redistier.Tier) func(context.Context) error {
	return func(ctx context.Context) error { _, err := tiercall.Get(ctx, r, "warm"); return err }
}

func wantBack(t *testing.T, r *redistier.Tier) {
	t.Helper()
	redistest.Eventually(t, "the tier does not come back", alive(r))
	for name, err := range ops(t, r, ample) {
		if err != nil {
			t.Errorf("%s after the fault = %v, want nil", name, err)
		}
	}
}

func TestServerFaults(t *testing.T) {
	s := redistest.Start(t)
	r := newTier(t, s.Client())
	store(t, r, "warm")
	for _, tc := range []struct {
		name      string
		fault     func(t testing.TB)
		afterward func(t testing.TB)
	}{
		{"killed", s.Kill, s.Restart},
		{"stopped", s.Stop, s.Cont},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.fault(t)
			wantAllFail(t, r)
			tc.afterward(t)
			wantBack(t, r)
		})
	}
}

func TestNetworkFaults(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	opts := s.Options()
	opts.Addr = p.Addr()
	r := newTier(t, closed(t, redis.NewClient(opts)))
	for _, tc := range []struct {
		name  string
		fault func()
	}{
		{"half-open", p.BlackHole},
		{"dropped", p.Drop},
		{"slow", func() { p.Delay(2 * deadline) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store(t, r, "warm "+tc.name) // opens a connection
			tc.fault()
			wantAllFail(t, r)
			p.Drop() // ends late deliveries
			p.Pass()
			wantBack(t, r)
		})
	}
}

// Another server, or another program on its port, may answer anything. The client would allocate
// none of the lengths here.
func TestGarbage(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	opts := s.Options()
	opts.Addr = p.Addr()
	r := newTier(t, closed(t, redis.NewClient(opts)))
	for _, reply := range []string{
		"$99999999999999999\r\n", "$9223372036854775807\r\n", "$-5\r\n", "$x\r\n",
		"*999999999999999999\r\n", "*-2\r\n", "%999999999999999999\r\n", "secret payload\r\n",
		"\r\n", "\x00\x00\x00\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "-secret payload\r\n", "?\r\n",
		"-ERR unknown command 'EVALSHA', with args beginning with: 'secret'\r\n",
		"$3\r\nab", "*1\r\n$-1\r\n*1\r\n:1\r\n", "_\r\nsecret\r\n",
	} {
		t.Run(fmt.Sprintf("%.20q", reply), func(t *testing.T) {
			store(t, r, "warm") // opens the connection that then gets the garbage
			p.Garbage([]byte(reply))
			for name, err := range ops(t, r, deadline) {
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: the error contains the reply: %q", name, err)
				}
			}
			p.Drop()
			p.Pass()
			wantBack(t, r)
			if err := tiercall.Remove(t.Context(), r, "warm"); err != nil {
				t.Errorf("Unlink = %v", err)
			}
		})
	}
}

// Replies that parse but have the wrong type.
func TestWrongReplies(t *testing.T) {
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	opts := s.Options()
	opts.Addr = p.Addr()
	r := newTier(t, closed(t, redis.NewClient(opts)))
	n := tier.NewNonce()
	for _, tc := range []struct {
		name, reply string
		call        func(ctx context.Context) error
	}{
		{"claim answers 2", ":2\r\n", func(ctx context.Context) error {
			_, err := tiercall.Claim(ctx, r, "k", tier.Claim{Nonce: n, Lease: time.Minute})
			return err
		}},
		{"claim answers nil", "$-1\r\n", func(ctx context.Context) error {
			_, err := tiercall.Claim(ctx, r, "k", tier.Claim{Nonce: n, Lease: time.Minute})
			return err
		}},
		{"claim answers an array", "*1\r\n:1\r\n", func(ctx context.Context) error {
			_, err := tiercall.Claim(ctx, r, "k", tier.Claim{Nonce: n, Lease: time.Minute})
			return err
		}},
		{"fill answers a string", "$1\r\n1\r\n", func(ctx context.Context) error {
			_, err := tiercall.Fill(ctx, r, "k", tier.Fill{Nonce: n, Cell: []byte("x"), TTL: time.Minute})
			return err
		}},
		{"get many answers too few", "*1\r\n$-1\r\n", func(ctx context.Context) error {
			_, err := tiercall.GetMany(ctx, r, []string{"k", "l"})
			return err
		}},
		{"get many answers a number", "*2\r\n:1\r\n$-1\r\n", func(ctx context.Context) error {
			_, err := tiercall.GetMany(ctx, r, []string{"k", "l"})
			return err
		}},
		{"claim many answers an array in an array", "*2\r\n:1\r\n*0\r\n", func(ctx context.Context) error {
			_, err := tiercall.ClaimMany(ctx, r, []string{"k", "l"}, []tier.Claim{{Nonce: n, Lease: time.Minute}, {Nonce: n, Lease: time.Minute}})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p.Pass()
			redistest.Eventually(t, "warm", alive(r))
			if _, err := tiercall.Claim(t.Context(), r, "warm", tier.Claim{Nonce: n, Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
			p.Garbage([]byte(tc.reply))
			ctx, cancel := context.WithTimeout(t.Context(), ample)
			defer cancel()
			if err := tc.call(ctx); !errors.Is(err, redistier.ErrReply) {
				t.Errorf("got %v, want %v", err, redistier.ErrReply)
			}
		})
	}
}

func TestFullServer(t *testing.T) {
	s := redistest.Start(t, redistest.Args("--maxmemory", "100mb", "--maxmemory-policy", "noeviction"))
	r := newTier(t, s.Client())
	n := store(t, r, "k")
	s.Do(t, "CONFIG", "SET", "maxmemory", "1mb") // less than an empty server takes
	if _, err := tiercall.Claim(t.Context(), r, "l", tier.Claim{Nonce: n, Lease: time.Minute}); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Claim on a full server = %v, want OOM", err)
	}
	if _, err := tiercall.ClaimMany(t.Context(), r, []string{"l", "m"}, []tier.Claim{{Nonce: n, Lease: time.Minute}, {Nonce: n, Lease: time.Minute}}); err == nil {
		t.Errorf("ClaimMany on a full server = nil, want OOM")
	}
	if b, err := tiercall.Get(t.Context(), r, "k"); b == nil || err != nil {
		t.Errorf("Get on a full server = %d bytes, %v; want the frame", len(b), err)
	}
	if err := tiercall.Remove(t.Context(), r, "k"); err != nil {
		t.Errorf("Remove on a full server = %v, want nil", err)
	}
}

func TestReplica(t *testing.T) {
	g := redistest.StartSentinel(t)
	prefix := redistest.Prefix()
	master := redistier.New(g.Master.Client(), redistier.Config{Prefix: prefix})
	replica := redistier.New(g.Replica.Client(), redistier.Config{Prefix: prefix})
	n := store(t, master, "k")
	redistest.Eventually(t, "the value does not reach the replica", func(ctx context.Context) error {
		b, err := tiercall.Get(ctx, replica, "k")
		if err == nil && (len(b) == 0 || b[0] != byte(tier.KindValue)) {
			err = errors.New("no value yet")
		}
		return err
	})
	if _, err := tiercall.Claim(t.Context(), replica, "l", tier.Claim{Nonce: n, Lease: time.Minute}); err == nil || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("Claim on a replica = %v, want READONLY", err)
	}
	if _, err := tiercall.Fill(t.Context(), replica, "k", tier.Fill{Nonce: n, Cell: frame(t, n), TTL: time.Minute}); err == nil {
		t.Errorf("Fill on a replica = nil, want READONLY")
	}
}
