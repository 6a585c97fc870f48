package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// slowAnswers is a remote tier that claims at once, but answers only after the caller's
// deadline.
type slowAnswers struct{ tier.Remote }

func (s slowAnswers) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	_, _ = s.Remote.Claim(ctx, key, c)
	<-ctx.Done()
	return tier.Claimed{}, ctx.Err()
}

// falseAnswers is a remote tier that grants each claim and answers that it refused.
type falseAnswers struct{ tier.Remote }

func (s falseAnswers) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	_, err := s.Remote.Claim(ctx, key, c)
	return tier.Claimed{}, err
}

// The remote tier grants a claim, and the answer is lost. The claimant gives the claim back. So
// the others wait for one RemoteTimeout and one poll, not for ClaimTTL.
func TestLostAnswerToAClaim(t *testing.T) {
	lost := func(r tier.Remote) tier.Remote {
		f := tiertest.NewFaulty(r)
		f.LoseClaims(true)
		return f
	}
	busy := func(r tier.Remote) tier.Remote { // the first attempt to give the claim back fails as well
		f := tiertest.NewFaulty(r)
		f.LoseClaims(true)
		f.Fail(errRemote, tiertest.Fill, tiertest.FillMany)
		time.AfterFunc(20*time.Millisecond, func() { f.Fail(nil, tiertest.Fill, tiertest.FillMany) })
		return f
	}
	for name, harm := range map[string]func(tier.Remote) tier.Remote{
		"cut": lost, "cut for a while": busy,
		"slow":  func(r tier.Remote) tier.Remote { return slowAnswers{r} },
		"false": func(r tier.Remote) tier.Remote { return falseAnswers{r} },
	} {
		for _, many := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, GetMany=%v", name, many), func(t *testing.T) {
				src, mem := &source{}, tiertest.NewMemory()
				a := with(t, open(t, cache.TiersConfig{Remote: harm(mem)}), thingConfig{Load: src.load})
				b := with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Load: src.load})
				go func() {
					if many {
						_, _ = a.GetMany(t.Context(), []int{1, 2})
					} else {
						get(t, a, 1)
					}
				}()
				synctest.Wait()
				start := time.Now()
				get(t, b, 1)
				if d := time.Since(start); d > 60*time.Millisecond {
					t.Errorf("the other process waited %v, want at most RemoteTimeout (50ms) and one poll", d)
				}
				advance(time.Second)
				if raw, err := mem.Get(t.Context(), cell1); err != nil || bytes.HasPrefix(raw, []byte{byte(tier.Lease)}) {
					t.Errorf("the cell holds %x, %v, want no lease", raw, err)
				}
			})
		}
	}
}

// A claim is given back even while the breaker is open. Many claims are given back in commands of about
// 1,000 keys.
func TestClaimsAreGivenBack(t *testing.T) {
	play(
		t,
		scene{name: "past the breaker", on: paired, steps: `
			a's remote loses; a's remote slow=10ms; go a gets any key=0-19; wait 20ms; a breaker open; wait 10ms; cells 0`},
		scene{name: "many", on: paired, steps: "a's remote hangs=claim; a batches 0-4999; a calls any; wait 10s; a calls 10"},
	)
}

// A caller leaves while the remote tier hangs. Its flight does not start a load.
func TestNoLoadForNobody(t *testing.T) {
	for _, call := range []string{"gets", "many"} {
		play(t, scene{name: call, on: paired, many: call == "many", steps: "remote hangs; a " + call + " late timeout=10ms; wait 1s; loads 0"})
	}
}
