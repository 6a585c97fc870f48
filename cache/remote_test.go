package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

const cell1 = "default:things:1"

var errRemote = errors.New("the remote tier is down")

// Under any fault of the remote tier a read soon gets an answer, by a load that all callers
// share. When the tier recovers, it is used again.
func TestRemoteFaults(t *testing.T) {
	for _, fault := range []string{
		"fails", "fails=get", "fails=claim", "fails=fill", "hangs", "hangs=get", "hangs=claim", "hangs=fill", "slow=40ms", "drops", "forgets", "corrupt",
	} {
		for _, many := range []bool{false, true} {
			steps := "source takes=10ms; b gets any key=0-19; a's remote " + fault // cells to damage
			for k := range 20 {                                                    // Get, Claim and Fill each have a deadline of 50 ms
				steps += fmt.Sprintf("; go 9 a gets !empty key=%d; a gets !empty key=%d; took 0s-170ms", k, k)
			}
			play(t, scene{name: fmt.Sprint(fault, ", LoadMany ", many), on: paired, many: many, harm: func([]byte) []byte { panicHere("client library"); return nil }, steps: steps + `
				a batches 20-59; took 0s-200ms; loads <=80
				a's remote well; wait 2s; a gets 500.1 key=500; b gets 500.1 remote key=500`})
		}
	}
}

func TestBreaker(t *testing.T) {
	play(t, scene{on: paired, steps: `
		remote fails; a gets any key=0-4; a breaker open; a counts GetErrors=5; a calls any; a gets any key=10-109; took 0s; a calls 0
		wait 1100ms; a breaker half-open; a gets any key=200-219; a calls 1
		remote well; wait 1100ms; a gets any key=300; a breaker closed; a calls any; a gets any key=301; a calls 3`})
}

// A caller that leaves does not count as a failure of the remote tier, and proves nothing. When it
// made the trial call of a half-open breaker, the next caller tries at once.
func TestImpatientCallersAndTheBreaker(t *testing.T) {
	play(
		t,
		scene{name: "no failure", on: paired, steps: "remote gets=20ms; a gets late timeout=1ms key=0-19; a breaker closed"},
		scene{name: "no trial", on: paired, steps: `
			remote fails; a gets any key=0-4; a breaker open; remote well; wait 1100ms; remote slow=20ms
			go a gets cancelled key=10 after=10ms; wait 30ms; a gets any key=11; a breaker closed`},
	)
}

// A load that takes much longer than ClaimTTL renews its claim. The loss of an answer does not end
// it. A Delete of another process does, and then the old load's value is not stored.
func TestLongLoadKeepsItsClaim(t *testing.T) {
	for _, many := range []bool{false, true} {
		play(t, scene{name: fmt.Sprint("LoadMany ", many), on: paired, many: many, steps: `
			source takes=20s; go a many 1.1; wait 1s; b many 1.1; loads 1`})
	}
	play(
		t,
		scene{name: "an answer is lost", on: paired, steps: `
			source takes=20s; go a gets 1.1; wait 500ms; a's remote loses; wait 1s; a's remote well; b gets 1.1 remote; loads 1`},
		scene{name: "deleted", on: paired, steps: `
			source takes=20s; go a gets 1.1; wait 5s; b deletes; wait 5s; cells 0; wait 20s; cells 0`},
	)
}

// A hold prevents caching of the key for its time. It takes the claim of another process, which claimed
// the key between its removal and the hold: it may be reading a replica that lags.
func TestHold(t *testing.T) {
	play(
		t,
		scene{name: "reads", on: paired, steps: `
			remote holds=1s; a gets 1.1 load; a gets 1.2 load; a many 1.3; a counts FillsNotWanted=3
			wait 1s; a gets 1.4 load; a gets 1.4 local`},
		scene{name: "a claim", on: paired, steps: `
			a gets 1.1; before claim remote claims=1m; a invalidates key hold=1s; b gets 1.2 load; took 0s; b counts FillsNotWanted=1`},
	)
}

// looking is a remote tier with Look, a claim that also shows holds.
type looking struct{ *tiertest.Faulty }

func asLooker(f *tiertest.Faulty) tier.Remote { return looking{f} }
func asIs(f *tiertest.Faulty) tier.Remote     { return f }

func (l looking) Look(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	got, err := l.Claim(ctx, key, c)
	if err == nil && !got.Granted && got.Cell == nil {
		got.Cell, err = l.Get(ctx, key)
	}
	return got, err
}

// twice is a tier whose client library sends each look two times, and gets the second answer.
type twice struct{ looking }

func (l twice) Look(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	if got, err := l.looking.Look(ctx, key, c); err != nil || !got.Granted {
		return got, err
	}
	cell, err := l.Get(ctx, key)
	return tier.Claimed{Cell: cell}, err
}

// A key that is in no tier costs a look, which claims it, and a fill. Another process finds the value
// by a look.
func TestLookClaims(t *testing.T) {
	play(
		t,
		scene{name: "once", on: logged, as: asLooker, steps: "a gets 1.1 load; a calls 2; b gets 1.1 remote; b calls 1"},
		// A read that finds the claim of its own look loads at once.
		scene{name: "sent twice", on: logged, as: func(f *tiertest.Faulty) tier.Remote { return twice{looking{f}} }, steps: `
			a gets 1.1 load; took 0s; b gets 1.1 remote; took 0s`},
	)
}

// A look's claim does not outlast a read that ends before its load: no other process waits for it.
func TestLookGivesItsClaimBack(t *testing.T) {
	for name, steps := range map[string]string{
		"the caller left":    "before claim wait 1ms; a gets late timeout=1ms",
		"the tiers closed":   "before claim go a closes maybe; before claim wait 1ns; a gets closed",
		"the answer is lost": "a's remote loses; a gets any",
	} {
		play(t, scene{name: name, on: logged, as: asLooker, steps: steps + "; b gets any; took 0s-100ms"})
	}
}
