package tiertest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
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
		_ = x.remove()
		return x.ask()
	}),
	"remote: a look grants what it does not claim": lookMutant(func(x call) (tier.Claimed, error) {
		b, err := x.get()
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
		_ = x.remove()
		return x.ask()
	}),
	"remote: hides the current frame": claims(func(x call) (tier.Claimed, error) {
		got, err := x.ask()
		return tier.Claimed{Granted: got.Granted}, err
	}),
	"remote: refuses a repeated claim": claims(func(x call) (tier.Claimed, error) {
		b, _ := x.get()
		if _, n := tier.Head(b); n == x.claim.Nonce {
			return tier.Claimed{Cell: b}, nil
		}
		return x.ask()
	}),
	"remote: does not renew a lease": claims(func(x call) (tier.Claimed, error) {
		if b, _ := x.get(); len(b) >= 9 && tier.Nonce(b[1:]) == x.claim.Nonce {
			return tier.Claimed{Granted: true}, nil
		}
		return x.ask()
	}),
	"remote: renews a removed claim": claims(func(x call) (tier.Claimed, error) {
		if x.claim.Seen == x.claim.Nonce {
			x.claim.Seen = tier.Nonce{}
		}
		return x.ask()
	}),
	"remote: refuses bytes without a nonce to a caller that saw one": claims(func(x call) (tier.Claimed, error) {
		b, _ := x.get()
		if _, n := tier.Head(b); b != nil && n.IsZero() && !x.claim.Seen.IsZero() {
			return tier.Claimed{Cell: b}, nil
		}
		return x.ask()
	}),
	"remote: keeps a frame that is too short": claims(func(x call) (tier.Claimed, error) {
		if b, _ := x.get(); len(b) > 0 && len(b) < 9 {
			return tier.Claimed{Cell: b}, nil
		}
		return x.ask()
	}),
	"remote: takes a refresh for a load": claims(func(x call) (tier.Claimed, error) {
		x.claim.Refresh = false
		return x.ask()
	}),
	"remote: ignores the refresh time": claims(func(x call) (tier.Claimed, error) {
		if x.claim.Refresh {
			_, _ = tiercall.Fill(x.ctx, x.in, x.key, tier.Fill{Nonce: x.claim.Seen})
		}
		return x.ask()
	}),
	"remote: fills without comparing": fills(func(x call) (bool, error) {
		if b, _ := x.get(); len(b) >= 9 {
			x.fill.Nonce = tier.Nonce(b[1:])
		}
		return x.put()
	}),
	"remote: keeps the slice it is given": remoteMutant(func(m *mutant) {
		var kept sync.Map
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			kept.Store(key, f.Cell)
			return tiercall.Fill(ctx, m.in, key, f)
		}
		m.get = func(ctx context.Context, key string) ([]byte, error) {
			b, err := tiercall.Get(ctx, m.in, key)
			if k, ok := kept.Load(key); ok && len(b) > 9 {
				return k.([]byte), err
			}
			return b, err
		}
	}),
	"remote: release removes the value": fills(func(x call) (bool, error) {
		ok, err := x.put()
		if ok && len(x.fill.Cell) == 0 {
			err = x.remove()
		}
		return ok, err
	}),
	"remote: leases never end": claims(func(x call) (tier.Claimed, error) {
		x.claim.Lease = time.Hour
		return x.ask()
	}),
	"remote: values end early": fills(func(x call) (bool, error) {
		x.fill.TTL /= 3
		return x.put()
	}),
	"remote: changes a byte": gets(func(x call) ([]byte, error) {
		b, err := x.get()
		if len(b) > 100 {
			b[len(b)-1]++
		}
		return b, err
	}),
	"remote: refresh time in seconds": gets(func(x call) ([]byte, error) {
		b, err := x.get()
		if len(b) > 33 && binary.BigEndian.Uint64(b[25:]) > 0 {
			binary.BigEndian.PutUint64(b[25:], binary.BigEndian.Uint64(b[25:])/1000)
		}
		return b, err
	}),
	"remote: removes only the first": remoteMutant(func(m *mutant) {
		m.remove = func(ctx context.Context, keys []string) error {
			return m.in.Remove(ctx, keys[:min(1, len(keys))])
		}
	}),
	"remote: has no name":                 remoteMutant(func(m *mutant) { m.about.Name = "" }),
	"remote: has a server under wrappers": remoteMutant(func(m *mutant) { m.about.Server = "here" }),
	"remote: ignores the context":         gets(func(x call) ([]byte, error) { return tiercall.Get(context.Background(), x.in, x.key) }),
	"remote: answers backwards": func(t *testing.T) {
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

// call is a call for one key, and the tier without a mutation.
type call struct {
	in    *tiertest.Memory
	ctx   context.Context
	key   string
	claim tier.Claim
	fill  tier.Fill
}

func (x call) get() ([]byte, error)       { return tiercall.Get(x.ctx, x.in, x.key) }
func (x call) ask() (tier.Claimed, error) { return tiercall.Claim(x.ctx, x.in, x.key, x.claim) }
func (x call) put() (bool, error)         { return tiercall.Fill(x.ctx, x.in, x.key, x.fill) }
func (x call) remove() error              { return tiercall.Remove(x.ctx, x.in, x.key) }

func claims(claim func(x call) (tier.Claimed, error)) func(t *testing.T) {
	return remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			return claim(call{in: m.in, ctx: ctx, key: key, claim: c})
		}
	})
}

// lookMutant is claims for claims with Look.
func lookMutant(look func(x call) (tier.Claimed, error)) func(t *testing.T) {
	return remoteMutant(func(m *mutant) {
		m.about.Looks = true
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			x := call{in: m.in, ctx: ctx, key: key, claim: c}
			if !c.Look {
				return x.ask()
			}
			return look(x)
		}
	})
}

func fills(fill func(x call) (bool, error)) func(t *testing.T) {
	return remoteMutant(func(m *mutant) {
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			return fill(call{in: m.in, ctx: ctx, key: key, fill: f})
		}
	})
}

func gets(get func(x call) ([]byte, error)) func(t *testing.T) {
	return remoteMutant(func(m *mutant) {
		m.get = func(ctx context.Context, key string) ([]byte, error) {
			return get(call{in: m.in, ctx: ctx, key: key})
		}
	})
}

func remoteMutant(change func(m *mutant)) func(t *testing.T) {
	return func(t *testing.T) {
		tiertest.TestRemoteInBubble(t, func(*testing.T) tier.Remote {
			in := tiertest.NewMemory()
			m := &mutant{in: in, remove: in.Remove, about: tier.Description{Name: "mutant"}}
			m.get = func(ctx context.Context, key string) ([]byte, error) { return tiercall.Get(ctx, in, key) }
			m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
				return tiercall.Claim(ctx, in, key, c)
			}
			m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
				return tiercall.Fill(ctx, in, key, f)
			}
			change(m)
			return m
		})
	}
}

// honestLook obeys the rules of a claim with Look if no one else uses the key.
func honestLook(x call) (tier.Claimed, error) { return x.ask() }

func TestMemoryThatLooks(t *testing.T) { lookMutant(honestLook)(t) }

// mutant is a tier whose methods can be changed one by one.
type mutant struct {
	in     *tiertest.Memory // the tier without a mutation
	about  tier.Description
	get    func(context.Context, string) ([]byte, error)
	claim  func(context.Context, string, tier.Claim) (tier.Claimed, error)
	fill   func(context.Context, string, tier.Fill) (bool, error)
	remove func(context.Context, []string) error
}

func (m *mutant) Validate() error                       { return nil }
func (m *mutant) Describe(tier.Remote) tier.Description { return m.about }

func (m *mutant) Get(ctx context.Context, keys []string, frames [][]byte) (err error) {
	for i, key := range keys {
		var e error
		frames[i], e = m.get(ctx, key)
		err = errors.Join(err, e)
	}
	return err
}

func (m *mutant) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) (err error) {
	for i, key := range keys {
		var e error
		answers[i], e = m.claim(ctx, key, claims[i])
		err = errors.Join(err, e)
	}
	return err
}

func (m *mutant) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) (err error) {
	for i, key := range keys {
		var e error
		stored[i], e = m.fill(ctx, key, fills[i])
		err = errors.Join(err, e)
	}
	return err
}

func (m *mutant) Remove(ctx context.Context, keys []string) error { return m.remove(ctx, keys) }

// backwards answers in the wrong order.
type backwards struct{ *tiertest.Memory }

func (b backwards) Get(ctx context.Context, keys []string, frames [][]byte) error {
	err := b.Memory.Get(ctx, keys, frames)
	slices.Reverse(frames)
	return err
}
