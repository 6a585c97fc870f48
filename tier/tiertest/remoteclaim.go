package tiertest

import (
	"github.com/twofold-go/twofold/tier"
)

func remoteGetNothing(t *remoteTest) {
	b, err := t.r.Get(t.ctx(), t.key("none"))
	if b != nil || err != nil {
		t.Fatalf("Get of an empty key = %q, %v; want nil, nil", b, err)
	}
}

func remoteClaimEmpty(t *remoteTest) {
	n := tier.NewNonce()
	t.wantClaimed(t.key("a"), tier.Claim{Nonce: n, Lease: long}, granted)
	t.wantFrame(t.key("a"), tier.LeaseCell(n))

	// A caller that saw a frame may claim the key after the frame is gone.
	t.wantClaimed(t.key("b"), tier.Claim{Seen: tier.NewNonce(), Nonce: n, Lease: long}, granted)
	t.wantFrame(t.key("b"), tier.LeaseCell(n))
}

func remoteClaimRefused(t *remoteTest) {
	k, first := t.key("a"), tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: first, Lease: long}, granted)
	refused := tier.Claimed{Cell: tier.LeaseCell(first)}
	t.wantClaimed(k, tier.Claim{Nonce: tier.NewNonce(), Lease: long}, refused)
	t.wantClaimed(k, tier.Claim{Seen: tier.NewNonce(), Nonce: tier.NewNonce(), Lease: long}, refused)
	t.wantFrame(k, tier.LeaseCell(first))

	v := t.value(tier.NewNonce(), noTime, []byte("payload"))
	t.wantFill(k, tier.Fill{Nonce: first, Cell: v, TTL: long}, true)
	t.wantClaimed(k, tier.Claim{Nonce: tier.NewNonce(), Lease: long}, tier.Claimed{Cell: v})
	t.wantFrame(k, v)
}

func remoteClaimRepeated(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	c := tier.Claim{Nonce: n, Lease: long}
	t.wantClaimed(k, c, granted)
	t.wantClaimed(k, c, granted)
	t.wantFrame(k, tier.LeaseCell(n))
	t.wantClaimed(k, tier.Claim{Seen: tier.NewNonce(), Nonce: n, Lease: long}, granted)
	t.wantFrame(k, tier.LeaseCell(n))
}

func remoteClaimSeen(t *remoteTest) {
	k, first, second, third := t.key("a"), tier.NewNonce(), tier.NewNonce(), tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: first, Lease: long}, granted)
	t.wantClaimed(k, tier.Claim{Seen: first, Nonce: second, Lease: long}, granted)
	t.wantFrame(k, tier.LeaseCell(second))

	v := t.value(third, noTime, nil)
	t.wantFill(k, tier.Fill{Nonce: second, Cell: v, TTL: long}, true)
	t.wantClaimed(k, tier.Claim{Seen: third, Nonce: first, Lease: long}, granted)
	t.wantFrame(k, tier.LeaseCell(first))
}

// remoteRenewal tests a long load that renews its claim. The claim must not come back after it
// was removed.
func remoteRenewal(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	renewal := tier.Claim{Seen: n, Nonce: n, Lease: long}
	t.wantClaimed(k, renewal, tier.Claimed{})
	t.wantFrame(k, nil)
	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: long}, granted)
	t.wantClaimed(k, renewal, granted)
	t.wantFrame(k, tier.LeaseCell(n))
	t.unlink(k)
	t.wantClaimed(k, renewal, tier.Claimed{})
	t.wantFrame(k, nil)
	t.wantFill(k, tier.Fill{Nonce: n, Cell: t.value(n, noTime, nil), TTL: long}, false)
	other := tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: other, Lease: long}, granted)
	t.wantClaimed(k, renewal, tier.Claimed{})
	t.wantFrame(k, tier.LeaseCell(other))
}

func remoteHold(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	t.store(k, tier.HoldCell(n), long)
	for _, c := range []tier.Claim{
		{Nonce: tier.NewNonce(), Lease: long},
		{Nonce: tier.NewNonce(), Seen: n, Lease: long},
		{Nonce: tier.NewNonce(), Seen: n, Lease: long, Refresh: true},
		{Nonce: n, Lease: long},
		{Nonce: n, Lease: long, Refresh: true},
	} {
		t.wantClaimed(k, c, tier.Claimed{})
	}
	t.wantFrame(k, tier.HoldCell(n))
	t.wantFill(k, tier.Fill{Nonce: n}, false) // a hold cannot be released; it expires
	t.wantFrame(k, tier.HoldCell(n))
}

// remoteForeign tests garbage under a key: a reader must be able to load and overwrite it.
func remoteForeign(t *remoteTest) {
	nonce := tier.NewNonce()
	for name, frame := range map[string][]byte{
		"unknown type": append([]byte{'?'}, nonce[:]...),
		"torn value":   append([]byte{'V'}, nonce[:]...),
	} {
		t.wantOverwritten(name, frame, nonce)
	}
}

// remoteNoNonce tests bytes without a nonce. Any claim may overwrite them, with any Seen, so no reader
// has to unlink them first.
func remoteNoNonce(t *remoteTest) {
	saw := tier.NewNonce()
	for name, frame := range map[string][]byte{
		"short":       []byte("??"),
		"one short":   tier.LeaseCell(saw)[:8],
		"short hold":  tier.HoldCell(saw)[:8],
		"short value": []byte("V"),
		"zero nonce":  append([]byte{'?'}, make([]byte, 20)...),
		"zero lease":  tier.LeaseCell(tier.Nonce{}),
		"zero value":  t.value(tier.Nonce{}, noTime, nil),
	} {
		t.wantOverwritten(name, frame, tier.Nonce{})
		t.wantOverwritten(name+", seen a nonce", frame, saw)
	}
}

// wantOverwritten fails unless a claim that saw seen is granted over frame, and a claim for
// refresh is refused.
func (t *remoteTest) wantOverwritten(name string, frame []byte, seen tier.Nonce) {
	t.Helper()
	k := t.key(name)
	t.store(k, frame, long)
	r := tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: long, Refresh: true}
	t.wantClaimed(k, r, tier.Claimed{})
	c := tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: long}
	t.wantClaimed(k, c, granted)
	t.wantFrame(k, tier.LeaseCell(c.Nonce))
}

func remoteZeroNonce(t *remoteTest) {
	k := t.key("a")
	if got, _ := t.r.Claim(t.ctx(), k, tier.Claim{Lease: long}); got.Granted {
		t.Errorf("Claim with the zero nonce was granted")
	}
	t.wantFrame(k, nil)
	claims := []tier.Claim{{Lease: long, Seen: tier.NewNonce()}}
	if got, _ := tier.ClaimMany(t.ctx(), t.r, []string{k}, claims); len(got) > 0 && got[0].Granted {
		t.Errorf("ClaimMany with the zero nonce was granted")
	}
	t.wantFrame(k, nil)
	if ok, _ := t.r.Fill(t.ctx(), k, tier.Fill{Cell: t.value(tier.NewNonce(), noTime, nil), TTL: long}); ok {
		t.Errorf("Fill with the zero nonce = true, want false")
	}
	t.wantFrame(k, nil)
}
