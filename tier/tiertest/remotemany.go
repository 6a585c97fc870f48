package tiertest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/tier"
)

func remoteUnlink(t *remoteTest) {
	var keys []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		keys = append(keys, t.key(name))
		t.store(t.key(name), t.value(tier.NewNonce(), noTime, nil), long)
	}
	lease, n := t.key("lease"), tier.NewNonce()
	t.wantClaimed(lease, tier.Claim{Nonce: n, Lease: long}, granted)
	hold := t.key("hold")
	t.store(hold, tier.HoldCell(n), long)
	t.unlink(append(keys[:4:4], lease, hold, t.key("never there"), keys[0])...)
	for _, k := range append(keys[:4:4], lease, hold) {
		t.wantFrame(k, nil)
	}
	if t.get(keys[4]) == nil {
		t.Errorf("Unlink removed a key it was not given")
	}
	t.unlink()
}

func remoteOneWinner(t *remoteTest) {
	contend(t, func(int) tier.Claim { return tier.Claim{Nonce: tier.NewNonce(), Lease: long} }, nil)
}

func remoteOneRefresher(t *remoteTest) {
	seen := tier.NewNonce()
	contend(t, func(int) tier.Claim {
		return tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: long, Refresh: true}
	}, t.value(seen, noTime, nil))
}

// contend makes many callers claim one key at once. The key holds frame unless frame is nil. The
// losers of a plain claim must get the winner's lease.
func contend(t *remoteTest, claim func(int) tier.Claim, frame []byte) {
	for round := range 5 {
		k := t.key(string(rune('a' + round)))
		if frame != nil {
			t.store(k, frame, long)
		}
		claims := make([]tier.Claim, 24)
		answers := make([]tier.Claimed, len(claims))
		var wg sync.WaitGroup
		for i := range claims {
			claims[i] = claim(i)
			wg.Go(func() {
				var err error
				if answers[i], err = t.r.Claim(t.ctx(), k, claims[i]); err != nil {
					t.Errorf("Claim = %v", err)
				}
			})
		}
		wg.Wait()
		winner := slices.IndexFunc(answers, func(a tier.Claimed) bool { return a.Granted })
		if winner < 0 {
			t.Fatalf("none of %d concurrent claims was granted", len(claims))
		}
		lease := tier.LeaseCell(claims[winner].Nonce)
		for i, a := range answers {
			if i != winner && a.Granted {
				t.Errorf("a second claim was granted")
			}
			if frame == nil && i != winner && !bytes.Equal(a.Cell, lease) {
				t.Errorf("a refused claim brought %s, want the winner's lease", describe(a.Cell))
			}
		}
	}
}

func remoteContext(t *remoteTest) {
	ctx, cancel := context.WithCancel(t.ctx())
	cancel()
	n := tier.NewNonce()
	keys := []string{t.key("a"), t.key("b")}
	claim := tier.Claim{Nonce: n, Lease: long}
	fill := tier.Fill{Nonce: n, Cell: t.value(n, noTime, nil), TTL: long}
	for op, call := range map[string]func() error{
		"Get":       func() error { _, err := t.r.Get(ctx, keys[0]); return err },
		"Claim":     func() error { _, err := t.r.Claim(ctx, keys[0], claim); return err },
		"Fill":      func() error { _, err := t.r.Fill(ctx, keys[0], fill); return err },
		"Unlink":    func() error { return t.r.Unlink(ctx, keys...) },
		"GetMany":   func() error { _, err := tier.GetMany(ctx, t.r, keys); return err },
		"ClaimMany": func() error { _, err := tier.ClaimMany(ctx, t.r, keys, []tier.Claim{claim, claim}); return err },
		"FillMany":  func() error { _, err := tier.FillMany(ctx, t.r, keys, []tier.Fill{fill, fill}); return err },
	} {
		if call() == nil {
			t.Errorf("%s with a context that is done = nil, want an error", op)
		}
	}
	t.wantFrame(keys[0], nil)
}

func remoteEmptyBatches(t *remoteTest) {
	b := suitetest.Need[tier.Batcher](t, t.r)
	if got, err := b.GetMany(t.ctx(), nil); len(got) != 0 || err != nil {
		t.Errorf("GetMany of no keys = %v, %v; want nothing", got, err)
	}
	if got, err := b.ClaimMany(t.ctx(), nil, nil); len(got) != 0 || err != nil {
		t.Errorf("ClaimMany of no keys = %v, %v; want nothing", got, err)
	}
	if got, err := b.FillMany(t.ctx(), nil, nil); len(got) != 0 || err != nil {
		t.Errorf("FillMany of no keys = %v, %v; want nothing", got, err)
	}
}

func remotePing(t *remoteTest) {
	p := suitetest.Need[tier.Pinger](t, t.r)
	if err := p.Ping(t.ctx()); err != nil {
		t.Errorf("Ping = %v, want nil", err)
	}
}
