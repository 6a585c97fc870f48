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

	"github.com/twofold-go/twofold/internal/race"
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

var mutants = map[string]func(t *testing.T){
	"local: keeps the old entry":           localMutant("keeps the old entry"),
	"local: ignores a replacement":         localMutant("ignores a replacement"),
	"local: has no budget":                 localMutant("has no budget"),
	"local: never deletes":                 localMutant("never deletes"),
	"local: forgets a departure":           localMutant("forgets a departure"),
	"local: reports twice":                 localMutant("reports twice"),
	"local: hides an entry":                localMutant("hides an entry"),
	"local: goes on":                       localMutant("goes on"),
	"local: deletes only the newest":       localMutant("deletes only the newest"),
	"local: unlocks in the middle":         localMutant("unlocks in the middle"),
	"local: allocates at the first hit":    localMutant("allocates at the first hit"),
	"local: keeps its entries when closed": localMutant("keeps its entries when closed"),

	"local: sweeps once":                localMutant("sweeps once"),
	"local: does not ask again":         localMutant("does not ask again"),
	"local: asks at the first end only": localMutant("asks at the first end only"),
	"local: keeps ended entries":        localMutant("keeps ended entries"),
	"local: removes early":              localMutant("removes early"),
	"local: calls it deleted":           localMutant("calls it deleted"),
	"local: evicts others first":        localMutant("evicts others first"),

	"remote: a look replaces the frame": lookMutant(func(ctx context.Context, m *tiertest.Memory, key string, c tier.Claim) (tier.Claimed, error) {
		_ = m.Unlink(ctx, key)
		return m.Claim(ctx, key, c)
	}),
	"remote: a look grants what it does not claim": lookMutant(func(ctx context.Context, m *tiertest.Memory, key string, _ tier.Claim) (tier.Claimed, error) {
		b, err := m.Get(ctx, key)
		return tier.Claimed{Granted: b == nil, Cell: b}, err
	}),
	"remote: a look claims and does not say so": lookMutant(func(ctx context.Context, m *tiertest.Memory, key string, c tier.Claim) (tier.Claimed, error) {
		got, err := honestLook(ctx, m, key, c)
		return tier.Claimed{Cell: got.Cell}, err
	}),
	"remote: a look hides holds": lookMutant(func(ctx context.Context, m *tiertest.Memory, key string, c tier.Claim) (tier.Claimed, error) {
		return m.Claim(ctx, key, c)
	}),
	"remote: a look's claim does not end": lookMutant(func(ctx context.Context, m *tiertest.Memory, key string, c tier.Claim) (tier.Claimed, error) {
		c.Lease = time.Hour
		return honestLook(ctx, m, key, c)
	}),

	"remote: grants every claim": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			_ = m.Remote.Unlink(ctx, key)
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: hides the current frame": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			got, err := m.Remote.Claim(ctx, key, c)
			return tier.Claimed{Granted: got.Granted}, err
		}
	}),
	"remote: refuses a repeated claim": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			b, _ := m.Remote.Get(ctx, key)
			if _, n := tier.Head(b); n == c.Nonce {
				return tier.Claimed{Cell: b}, nil
			}
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: does not renew a lease": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			if b, _ := m.Remote.Get(ctx, key); len(b) >= 9 && b[0] != byte(tier.Hold) && tier.Nonce(b[1:]) == c.Nonce {
				return tier.Claimed{Granted: true}, nil
			}
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: renews a removed claim": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			if c.Seen == c.Nonce {
				c.Seen = tier.Nonce{}
			}
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: refuses bytes without a nonce to a caller that saw one": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			b, _ := m.Remote.Get(ctx, key)
			if _, n := tier.Head(b); b != nil && n.IsZero() && !c.Seen.IsZero() {
				return tier.Claimed{Cell: b}, nil
			}
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: keeps a frame that is too short": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			if b, _ := m.Remote.Get(ctx, key); len(b) > 0 && len(b) < 9 {
				return tier.Claimed{Cell: b}, nil
			}
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: takes a refresh for a load": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			c.Refresh = false
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: ignores the refresh time": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			if c.Refresh {
				_, _ = m.Remote.Fill(ctx, key, tier.Fill{Nonce: c.Seen})
			}
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: fills without comparing": remoteMutant(func(m *mutant) {
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			if b, _ := m.Remote.Get(ctx, key); len(b) >= 9 {
				f.Nonce = tier.Nonce(b[1:])
			}
			return m.Remote.Fill(ctx, key, f)
		}
	}),
	"remote: keeps the slice it is given": remoteMutant(func(m *mutant) {
		var kept sync.Map
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			kept.Store(key, f.Cell)
			return m.Remote.Fill(ctx, key, f)
		}
		m.get = func(ctx context.Context, key string) ([]byte, error) {
			b, err := m.Remote.Get(ctx, key)
			if k, ok := kept.Load(key); ok && len(b) > 9 {
				return k.([]byte), err
			}
			return b, err
		}
	}),
	"remote: release unlinks the value": remoteMutant(func(m *mutant) {
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			ok, err := m.Remote.Fill(ctx, key, f)
			if ok && len(f.Cell) == 0 {
				err = m.Remote.Unlink(ctx, key)
			}
			return ok, err
		}
	}),
	"remote: leases never end": remoteMutant(func(m *mutant) {
		m.claim = func(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
			c.Lease = time.Hour
			return m.Remote.Claim(ctx, key, c)
		}
	}),
	"remote: values end early": remoteMutant(func(m *mutant) {
		m.fill = func(ctx context.Context, key string, f tier.Fill) (bool, error) {
			f.TTL /= 3
			return m.Remote.Fill(ctx, key, f)
		}
	}),
	"remote: changes a byte": remoteMutant(func(m *mutant) {
		m.get = func(ctx context.Context, key string) ([]byte, error) {
			b, err := m.Remote.Get(ctx, key)
			if len(b) > 100 {
				b[len(b)-1]++
			}
			return b, err
		}
	}),
	"remote: refresh time in seconds": remoteMutant(func(m *mutant) {
		m.get = func(ctx context.Context, key string) ([]byte, error) {
			b, err := m.Remote.Get(ctx, key)
			if len(b) > 33 && binary.BigEndian.Uint64(b[25:]) > 0 {
				binary.BigEndian.PutUint64(b[25:], binary.BigEndian.Uint64(b[25:])/1000)
			}
			return b, err
		}
	}),
	"remote: unlinks only the first": remoteMutant(func(m *mutant) {
		m.unlink = func(ctx context.Context, keys ...string) error {
			return m.Remote.Unlink(ctx, keys[:min(1, len(keys))]...)
		}
	}),
	"remote: ignores the context": remoteMutant(func(m *mutant) {
		m.get = func(_ context.Context, key string) ([]byte, error) {
			return m.Remote.Get(context.Background(), key)
		}
	}),
	"remote: batches answer backwards": func(t *testing.T) {
		tiertest.TestRemote(t, func(*testing.T) tier.Remote { return backwards{tiertest.NewMemory()} })
	},
}

func localMutant(name string) func(t *testing.T) {
	return func(t *testing.T) {
		tiertest.TestLocal(t, func(*testing.T) tier.Local {
			l := newLRU()
			l.mutant = name
			return l
		})
	}
}

func remoteMutant(change func(m *mutant)) func(t *testing.T) {
	return func(t *testing.T) {
		tiertest.TestRemote(t, func(*testing.T) tier.Remote {
			in := tiertest.NewMemory()
			m := &mutant{Remote: in, get: in.Get, claim: in.Claim, fill: in.Fill, unlink: in.Unlink}
			change(m)
			return m
		})
	}
}

func lookMutant(look func(context.Context, *tiertest.Memory, string, tier.Claim) (tier.Claimed, error)) func(t *testing.T) {
	return func(t *testing.T) {
		tiertest.TestRemote(t, func(*testing.T) tier.Remote { return looker{tiertest.NewMemory(), look} })
	}
}

// honestLook obeys the rules of tier.Looker if no one else uses the key.
func honestLook(ctx context.Context, m *tiertest.Memory, key string, c tier.Claim) (tier.Claimed, error) {
	got, err := m.Claim(ctx, key, c)
	if err == nil && !got.Granted && got.Cell == nil { // a hold
		got.Cell, err = m.Get(ctx, key)
	}
	return got, err
}

func TestMemoryThatLooks(t *testing.T) {
	tiertest.TestRemote(t, func(*testing.T) tier.Remote { return looker{tiertest.NewMemory(), honestLook} })
}

// looker is a tier.Looker whose Look can be changed.
type looker struct {
	*tiertest.Memory
	look func(context.Context, *tiertest.Memory, string, tier.Claim) (tier.Claimed, error)
}

func (l looker) Look(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	return l.look(ctx, l.Memory, key, c)
}

// mutant is a tier whose methods can be changed one by one.
type mutant struct {
	tier.Remote // the tier without a mutation
	get         func(context.Context, string) ([]byte, error)
	claim       func(context.Context, string, tier.Claim) (tier.Claimed, error)
	fill        func(context.Context, string, tier.Fill) (bool, error)
	unlink      func(context.Context, ...string) error
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
