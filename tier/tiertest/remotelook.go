package tiertest

import (
	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// remoteLook checks the rules of [tier.Looker].
func remoteLook(t *remoteTest) {
	l := suitetest.Need[tier.Looker](t, t.r)
	look := func(key string, n tier.Nonce) tier.Claimed {
		t.Helper()
		got, err := l.Look(t.ctx(), key, tier.Claim{Nonce: n, Lease: long})
		if err != nil {
			t.Fatalf("Look = %v", err)
		}
		return got
	}
	n, other := tier.NewNonce(), tier.NewNonce()
	// Nothing there: a claim, or nothing.
	switch got := look(t.key("empty"), n); {
	case got.Cell != nil:
		t.Errorf("Look of an empty key = %s", describe(got.Cell))
	case got.Granted:
		t.wantFrame(t.key("empty"), tier.LeaseCell(n))
		t.wantClaimed(t.key("empty"), tier.Claim{Nonce: other, Lease: long}, tier.Claimed{Cell: tier.LeaseCell(n)})
		if again := look(t.key("empty"), n); again.Granted == same(again.Cell, tier.LeaseCell(n)) {
			t.Errorf("Look of the own claim = %v, %s; want it granted again, or its frame", again.Granted, describe(again.Cell))
		}
		t.wantFill(t.key("empty"), tier.Fill{Nonce: n, Cell: t.value(n, noTime, []byte("v")), TTL: long}, true)
	default:
		t.wantFrame(t.key("empty"), nil)
	}
	// A frame there: it is returned and stays as it is.
	t.store(t.key("value"), t.value(other, noTime, []byte("v")), long)
	t.wantClaimed(t.key("lease"), tier.Claim{Nonce: other, Lease: long}, granted)
	t.store(t.key("hold"), tier.HoldCell(other), long)
	for _, name := range []string{"value", "lease", "hold"} {
		frame := t.get(t.key(name))
		if got := look(t.key(name), n); got.Granted || !same(got.Cell, frame) {
			t.Errorf("Look of a %s = %v, %s; want its frame", name, got.Granted, describe(got.Cell))
		}
		t.wantFrame(t.key(name), frame)
	}
	remoteLookEnds(t, l, n)
}

// remoteLookEnds checks that the claim of a look ends with its lease, and that an Unlink ends it at
// once.
func remoteLookEnds(t *remoteTest, l tier.Looker, n tier.Nonce) {
	t.Helper()
	look := func(name string, c tier.Claim) bool {
		t.Helper()
		got, err := l.Look(t.ctx(), t.key(name), c)
		if err != nil && c.Nonce != (tier.Nonce{}) {
			t.Fatalf("Look = %v", err)
		}
		return err == nil && got.Granted
	}
	if look("unlinked", tier.Claim{Nonce: n, Lease: long}) {
		t.unlink(t.key("unlinked"))
		t.wantFill(t.key("unlinked"), tier.Fill{Nonce: n, Cell: t.value(n, noTime, []byte("v")), TTL: long}, false)
	}
	if look("short", tier.Claim{Nonce: n, Lease: short}) {
		t.waitGone(t.key("short"))
	}
	if look("zero", tier.Claim{Lease: long}) {
		t.Error("Look with the zero nonce was granted")
	}
}
