package tiertest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A suite that never failed proves nothing. Each mutant breaks one rule, runs the suite in its
// own process, and must be caught.

const mutantEnv = "TIERTEST_MUTANT"

func TestSuitesCatchMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process per mutant")
	}
	for name := range mutants {
		t.Run(name, func(t *testing.T) {
			if race.Enabled && name == "local: allocates at the first hit" {
				t.Skip("the suite does not count allocations under the race detector")
			}
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestMutant$", "-test.count=1", "-test.failfast")
			cmd.Env = append(os.Environ(), mutantEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the suite accepts the mutant:\n%s", out)
			}
			if bytes.Contains(out, []byte("panic:")) || bytes.Contains(out, []byte("fatal error:")) {
				t.Errorf("the mutant crashed, it was not caught:\n%s", out)
			}
			t.Logf("%s", out)
		})
	}
}

// TestMutant is the process of one mutant; see TestSuitesCatchMutants.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantEnv)
	if name == "" {
		t.Skip("runs only in the processes of TestSuitesCatchMutants")
	}
	mutants[name](t)
}

var mutants = withLocal(map[string]func(t *testing.T){
	"remote: a look replaces the frame": lookMutant(func(x call) (tier.Claimed, error) {
		_ = x.Unlink(x.ctx, x.key)
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: a look grants what it does not claim": lookMutant(func(x call) (tier.Claimed, error) {
		b, err := x.Get(x.ctx, x.key)
		return tier.Claimed{Granted: b == nil, Cell: b}, err
	}),
	"remote: a look claims and does not say so": lookMutant(func(x call) (tier.Claimed, error) {
		got, err := honestLook(x)
		return tier.Claimed{Cell: got.Cell}, err
	}),
	"remote: a look's claim does not end": lookMutant(func(x call) (tier.Claimed, error) {
		x.claim.Lease = time.Hour
		return honestLook(x)
	}),

	"remote: grants every claim": claims(func(x call) (tier.Claimed, error) {
		_ = x.Unlink(x.ctx, x.key)
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: hides the current frame": claims(func(x call) (tier.Claimed, error) {
		got, err := x.Claim(x.ctx, x.key, x.claim)
		return tier.Claimed{Granted: got.Granted}, err
	}),
	"remote: refuses a repeated claim": claims(func(x call) (tier.Claimed, error) {
		b, _ := x.Get(x.ctx, x.key)
		if _, n := tier.Head(b); n == x.claim.Nonce {
			return tier.Claimed{Cell: b}, nil
		}
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: does not renew a lease": claims(func(x call) (tier.Claimed, error) {
		if b, _ := x.Get(x.ctx, x.key); len(b) >= 9 && tier.Nonce(b[1:]) == x.claim.Nonce {
			return tier.Claimed{Granted: true}, nil
		}
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: renews a removed claim": claims(func(x call) (tier.Claimed, error) {
		if x.claim.Seen == x.claim.Nonce {
			x.claim.Seen = tier.Nonce{}
		}
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: refuses bytes without a nonce to a caller that saw one": claims(func(x call) (tier.Claimed, error) {
		b, _ := x.Get(x.ctx, x.key)
		if _, n := tier.Head(b); b != nil && n.IsZero() && !x.claim.Seen.IsZero() {
			return tier.Claimed{Cell: b}, nil
		}
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: keeps a frame that is too short": claims(func(x call) (tier.Claimed, error) {
		if b, _ := x.Get(x.ctx, x.key); len(b) > 0 && len(b) < 9 {
			return tier.Claimed{Cell: b}, nil
		}
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: takes a refresh for a load": claims(func(x call) (tier.Claimed, error) {
		x.claim.Refresh = false
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: ignores the refresh time": claims(func(x call) (tier.Claimed, error) {
		if x.claim.Refresh {
			_, _ = x.Fill(x.ctx, x.key, tier.Fill{Nonce: x.claim.Seen})
		}
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: fills without comparing": fills(func(x call) (bool, error) {
		if b, _ := x.Get(x.ctx, x.key); len(b) >= 9 {
			x.fill.Nonce = tier.Nonce(b[1:])
		}
		return x.Fill(x.ctx, x.key, x.fill)
	}),
	"remote: keeps the slice it is given": remoteMutant(func(m *mutant) {
		var kept sync.Map
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			kept.Store(key, f.Cell)
			return m.in.Fill(ctx, key, f)
		}
		m.get = func(ctx context.Context, key string) ([]byte, error) {
			b, err := m.in.Get(ctx, key)
			if k, ok := kept.Load(key); ok && len(b) > 9 {
				return k.([]byte), err
			}
			return b, err
		}
	}),
	"remote: release unlinks the value": fills(func(x call) (bool, error) {
		ok, err := x.Fill(x.ctx, x.key, x.fill)
		if ok && len(x.fill.Cell) == 0 {
			err = x.Unlink(x.ctx, x.key)
		}
		return ok, err
	}),
	"remote: leases never end": claims(func(x call) (tier.Claimed, error) {
		x.claim.Lease = time.Hour
		return x.Claim(x.ctx, x.key, x.claim)
	}),
	"remote: values end early": fills(func(x call) (bool, error) {
		x.fill.TTL /= 3
		return x.Fill(x.ctx, x.key, x.fill)
	}),
	"remote: changes a byte": gets(func(x call) ([]byte, error) {
		b, err := x.Get(x.ctx, x.key)
		if len(b) > 100 {
			b[len(b)-1]++
		}
		return b, err
	}),
	"remote: refresh time in seconds": gets(func(x call) ([]byte, error) {
		b, err := x.Get(x.ctx, x.key)
		if len(b) > 33 && binary.BigEndian.Uint64(b[25:]) > 0 {
			binary.BigEndian.PutUint64(b[25:], binary.BigEndian.Uint64(b[25:])/1000)
		}
		return b, err
	}),
	"remote: unlinks only the first": remoteMutant(func(m *mutant) {
		m.unlink = func(ctx context.Context, keys ...string) error {
			return m.in.Unlink(ctx, keys[:min(1, len(keys))]...)
		}
	}),
	"remote: ignores the context": gets(func(x call) ([]byte, error) { return x.Get(context.Background(), x.key) }),
	"remote: batches answer backwards": func(t *testing.T) {
		tiertest.TestRemoteInBubble(t, func(*testing.T) tier.Remote { return backwards{tiertest.NewMemory()} })
	},
})

// withLocal adds the mutants of lru.
func withLocal(all map[string]func(t *testing.T)) map[string]func(t *testing.T) {
	for _, name := range []string{
		"keeps the old entry", "ignores a replacement", "has no budget", "never deletes", "forgets a departure",
		"reports twice", "hides an entry", "goes on", "deletes only the newest", "unlocks in the middle",
		"allocates at the first hit", "keeps its entries when closed",
		"sweeps once", "does not ask again", "asks at the first end only", "keeps ended entries", "removes early",
		"calls it deleted", "evicts others first",
		"knows no budget", "does not say what it uses", "reports nothing at Close", "calls what it closes evicted", "is closed too late",
		"reports nothing when closed", "reports no refusal", "reports a refusal twice", "brings back what was deleted",
	} {
		all["local: "+name] = func(t *testing.T) {
			tiertest.TestLocal(t, func(*testing.T) tier.Local {
				l := newLRU()
				l.mutant = name
				return l
			})
		}
	}
	return all
}

// call is one call of a tier, and the tier without a mutation.
type call struct {
	*tiertest.Memory
	ctx   context.Context
	key   string
	claim tier.Claim
	fill  tier.Fill
}

func claims(claim func(x call) (tier.Claimed, error)) func(t *testing.T) {
	return remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			return claim(call{Memory: m.in, ctx: ctx, key: key, claim: c})
		}
	})
}

func fills(fill func(x call) (bool, error)) func(t *testing.T) {
	return remoteMutant(func(m *mutant) {
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			return fill(call{Memory: m.in, ctx: ctx, key: key, fill: f})
		}
	})
}

func gets(get func(x call) ([]byte, error)) func(t *testing.T) {
	return remoteMutant(func(m *mutant) {
		m.get = func(ctx context.Context, key string) ([]byte, error) {
			return get(call{Memory: m.in, ctx: ctx, key: key})
		}
	})
}

func remoteMutant(change func(m *mutant)) func(t *testing.T) {
	return func(t *testing.T) {
		tiertest.TestRemoteInBubble(t, func(*testing.T) tier.Remote {
			in := tiertest.NewMemory()
			m := &mutant{in: in, get: in.Get, claim: in.Claim, fill: in.Fill, unlink: in.Unlink}
			change(m)
			return m
		})
	}
}

func lookMutant(look func(x call) (tier.Claimed, error)) func(t *testing.T) {
	return func(t *testing.T) {
		tiertest.TestRemoteInBubble(t, func(*testing.T) tier.Remote { return looker{tiertest.NewMemory(), look} })
	}
}

// honestLook obeys the rules of tier.Looker if no one else uses the key.
func honestLook(x call) (tier.Claimed, error) {
	return x.Claim(x.ctx, x.key, x.claim)
}

func TestMemoryThatLooks(t *testing.T) { lookMutant(honestLook)(t) }

// looker is a tier.Looker whose Look can be changed.
type looker struct {
	*tiertest.Memory
	look func(x call) (tier.Claimed, error)
}

func (l looker) Look(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	return l.look(call{Memory: l.Memory, ctx: ctx, key: key, claim: c})
}

// mutant is a tier whose methods can be changed one by one.
type mutant struct {
	in     *tiertest.Memory // the tier without a mutation
	get    func(context.Context, string) ([]byte, error)
	claim  func(context.Context, string, tier.Claim) (tier.Claimed, error)
	fill   func(context.Context, string, tier.Fill) (bool, error)
	unlink func(context.Context, ...string) error
}

func (m *mutant) Get(ctx context.Context, key string) ([]byte, error) { return m.get(ctx, key) }

func (m *mutant) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	return m.claim(ctx, key, c)
}

func (m *mutant) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	return m.fill(ctx, key, f)
}

func (m *mutant) Unlink(ctx context.Context, keys ...string) error { return m.unlink(ctx, keys...) }

// backwards answers batches in the wrong order.
type backwards struct{ *tiertest.Memory }

func (b backwards) GetMany(ctx context.Context, keys []string) ([][]byte, error) {
	got, err := b.Memory.GetMany(ctx, keys)
	for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
		got[i], got[j] = got[j], got[i]
	}
	return got, err
}
