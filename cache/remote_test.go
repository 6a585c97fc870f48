package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
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

// looking is a remote tier that grants looks.
type looking struct{ *tiertest.Faulty }

func asLooker(f *tiertest.Faulty) tier.Remote { return looking{f} }
func asIs(f *tiertest.Faulty) tier.Remote     { return f }

func (looking) Describe(tier.Remote) tier.Description {
	return tier.Description{Name: "looking", Looks: true}
}

func (l looking) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	if !claims[0].Look {
		return l.Faulty.Claim(ctx, keys, claims, answers)
	}
	c := claims[0]
	c.Look = false // a fault of claims is one of looks
	return l.Faulty.Claim(ctx, keys, []tier.Claim{c}, answers)
}

// twice is a tier whose client library sends each look two times, and gets the second answer.
type twice struct{ looking }

func (l twice) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	err := l.looking.Claim(ctx, keys, claims, answers)
	if err != nil || !claims[0].Look || !answers[0].Granted {
		return err
	}
	cell, err := tiercall.Get(ctx, l, keys[0])
	answers[0] = tier.Claimed{Cell: cell}
	return err
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

// lingering is a tier whose looks are granted a moment before their callers hear of it.
type lingering struct{ looking }

func (l lingering) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	err := l.looking.Claim(ctx, keys, claims, answers)
	if claims[0].Look {
		<-time.After(2 * time.Millisecond)
	}
	return err
}

// A look's claim does not outlast a read that ends before its load: no other process waits for it.
func TestLookGivesItsClaimBack(t *testing.T) {
	for name, steps := range map[string]string{
		"the caller left":    "a gets late timeout=1ms",
		"the tiers closed":   "go a gets closed; a closes maybe ended",
		"the answer is lost": "a's remote loses; a gets any",
	} {
		play(t, scene{name: name, on: logged, as: func(f *tiertest.Faulty) tier.Remote { return lingering{looking{f}} }, steps: steps + `
			wait 5ms; b gets any; took 0s-100ms`})
	}
}

// The remote tier hangs, or the log, or both as one Redis. The callers' deadlines are shorter or longer than
// RemoteTimeout (50 ms), and the loader is quick. A few reads fail until the breaker opens, within a second,
// and then one at each trial. No read fails for the log: none spends more than half its time on a lease, and
// after a round to the log has failed, none waits for another.
func TestHungRedisAndShortDeadlines(t *testing.T) {
	for deadline, most := range map[time.Duration]int{5 * time.Millisecond: 10, 15 * time.Millisecond: 6, 30 * time.Millisecond: 5, 100 * time.Millisecond: 0, 500 * time.Millisecond: 0} {
		bubble(t, fmt.Sprint(deadline, ", the remote tier"), func(t *testing.T) { shortDeadlines(t, paired, "held", true, deadline, most) })
		for _, lease := range []string{"held", "lost", "none"} {
			for _, both := range []bool{false, true} {
				bubble(t, fmt.Sprintf("%v, the log, the remote tier too %v, lease %s", deadline, both, lease), func(t *testing.T) { shortDeadlines(t, logged, lease, both, deadline, most) })
			}
		}
	}
}

// shortDeadlines reads for ten seconds while the log hangs, if there is one, and the remote tier, if wire is
// set. The lease is held at first, or lost, or the process begins without one.
func shortDeadlines(t *testing.T, on ground, lease string, wire bool, deadline time.Duration, most int) {
	w := newDuo(t, on, cache.TiersConfig{}, thingConfig{}, asIs)
	w.src.took = time.Millisecond
	w.wire[0].Hang(wire)
	w.link[0].Hang(true)
	switch lease {
	case "lost":
		advance(2 * bound)
	case "none":
		w.start(0)
	}
	breaker := func() string { return w.tiers[0].Stats().Remote.Breaker }
	begun, opened, reads, failed, slow := time.Now(), time.Duration(0), 0, map[bool]int{}, 0
	for ; time.Since(begun) < 10*time.Second; reads++ {
		var opts []cache.Option
		if reads%2 == 0 {
			opts = append(opts, cache.MaxAge(bound/10))
		}
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		asked := time.Now()
		if _, err := w.c[0].Fetch(ctx, reads, nil, opts...); err != nil {
			failed[opened > 0]++
		}
		cancel()
		if opened == 0 && breaker() == "open" {
			opened = time.Since(begun)
		}
		if asked.Sub(begun) > bound && time.Since(asked) > w.src.took {
			slow++
		}
		advance(3 * time.Millisecond)
	}
	hurt := wire && lease == "held" // without a lease no read asks the remote tier
	if !hurt && (len(failed) > 0 || slow > 0 || opened > 0) || hurt && (opened == 0 || opened > time.Second || failed[false] > most || failed[true]*100 > reads || slow > 10) {
		t.Errorf("of %d reads failed, with the breaker open: %v; it opened after %v, and %d reads were slow after a bound", reads, failed, opened, slow)
	}
	w.wire[0].Heal()
	w.link[0].Heal()
	advance(2 * time.Second)
	wantFetch(t, w.c[0], 100_000, fetched{"100000.1", cache.Load, false, nil})
	equal(t, breaker(), "closed", "the breaker after the recovery is")
}

// slowAnswers is a remote tier that claims at once, but answers only after the caller's
// deadline.
type slowAnswers struct{ tier.Remote }

func (s slowAnswers) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	_ = s.Remote.Claim(ctx, keys, claims, make([]tier.Claimed, len(keys)))
	<-ctx.Done()
	return ctx.Err()
}

// falseAnswers is a remote tier that grants each claim and answers that it refused.
type falseAnswers struct{ tier.Remote }

func (s falseAnswers) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	err := s.Remote.Claim(ctx, keys, claims, answers)
	clear(answers)
	return err
}

// ofA returns the form of the remote tiers of a duo: process a has a wrapper of its own.
func ofA(wrap func(tier.Remote) tier.Remote) func(*tiertest.Faulty) tier.Remote {
	tiers := 0
	return func(f *tiertest.Faulty) tier.Remote {
		if tiers++; tiers > 1 || wrap == nil {
			return f
		}
		return wrap(f)
	}
}

// The remote tier grants a claim, and the answer is lost. The claimant gives the claim back. So
// the others wait for one RemoteTimeout and one poll, not for ClaimTTL.
func TestLostAnswerToAClaim(t *testing.T) {
	for name, tt := range map[string]struct {
		harm string
		wrap func(tier.Remote) tier.Remote
	}{
		"cut": {harm: "a's remote loses"},
		// The first attempt to give the claim back fails as well.
		"cut for a while": {harm: "a's remote loses; a's remote fails=fill; later 20ms a's remote works=fill"},
		"slow":            {wrap: func(r tier.Remote) tier.Remote { return slowAnswers{r} }},
		"false":           {wrap: func(r tier.Remote) tier.Remote { return falseAnswers{r} }},
	} {
		for _, call := range []string{"gets any", "batches 1-2"} {
			play(t, scene{name: name + ", " + call, on: paired, as: ofA(tt.wrap), steps: tt.harm + "; go a " + call + `
				b gets any; took 0s-60ms; wait 1s; b gets any remote SkipLocal; took 0s`}) // RemoteTimeout is 50 ms
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
