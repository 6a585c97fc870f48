package tiertest

import (
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
)

// remoteLook checks the rules of claims with Look.
func remoteLook(t *remoteTest) {
	if !t.r.Describe(t.r).Looks {
		t.Skip("the tier grants no claim with Look")
	}
	c := tier.Claim{Nonce: t.nonce(1), Lease: long}
	look := func(c tier.Claim) tier.Claimed {
		t.Helper()
		c.Look = true
		got, err := tiercall.Claim(t.Context(), t.r, t.at, c)
		if err != nil && !c.Nonce.IsZero() {
			t.Fatalf("Look = %v", err)
		}
		return got
	}
	// Nothing there: a claim, or nothing.
	on("empty")(t)
	switch got := look(c); {
	case got.Cell != nil:
		t.Errorf("Look of an empty key = %s", describe(got.Cell))
	case got.Granted:
		t.claimed(t.at, c, got, nil)
		t.check(t.at)
		claim(2)(t)
		if again := look(c); again.Granted == same(again.Cell, t.cells[t.at].frame) {
			t.Errorf("Look of the own claim = %v, %s; want it granted again, or its frame", again.Granted, describe(again.Cell))
		}
		fill(1, value(1))(t)
	default:
		t.check(t.at)
	}
	// A frame there: it is returned and stays as it is.
	for name, put := range map[string]step{"value": store(value(2)), "lease": claim(2)} {
		on(name)(t)
		put(t)
		if got := look(c); got.Granted || !same(got.Cell, t.cells[t.at].frame) {
			t.Errorf("Look of a %s = %v, %s; want its frame", name, got.Granted, describe(got.Cell))
		}
		t.check(t.at)
	}
	// Its claim ends with a Remove, and with its lease.
	if on("removed")(t); look(c).Granted {
		remove()(t)
		fill(1, value(1))(t)
	}
	if on("short")(t); look(tier.Claim{Nonce: t.nonce(1), Lease: short}).Granted {
		t.waitGone(t.at)
	}
	if on("zero")(t); look(tier.Claim{Lease: long}).Granted {
		t.Error("Look with the zero nonce was granted")
	}
}
