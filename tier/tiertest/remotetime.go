package tiertest

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/twofold-go/twofold/tier"
)

func remoteRefresh(t *remoteTest) {
	k, seen, n := t.key("a"), tier.NewNonce(), tier.NewNonce()
	v := t.value(seen, time.Now().Add(-time.Hour), []byte("still served"))
	t.store(k, v, long)
	c := tier.Claim{Seen: seen, Nonce: n, Lease: long, Refresh: true}
	t.wantClaimed(k, c, granted)

	got := t.get(k)
	if cell := t.wantParses(got); cell.Nonce != n || !bytes.Equal(cell.Payload, []byte("still served")) {
		t.Errorf("after the refresh claim the frame carries nonce %x and payload %q", cell.Nonce, cell.Payload)
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(got[tier.RefreshAt:])))
	// The tier's clock may differ from ours by an hour.
	if off := time.Until(until) - long; off < -time.Hour || off > time.Hour {
		t.Errorf("RefreshUntil = %v, want about one lease from now", until)
	}
	copy(got[1:9], v[1:9])
	copy(got[tier.RefreshAt:tier.HeaderSize], v[tier.RefreshAt:tier.HeaderSize])
	if !bytes.Equal(got, v) {
		t.Errorf("the refresh claim changed more than nonce and refresh time")
	}

	t.wantClaimed(k, c, granted) // repeated
	next := tier.NewNonce()
	w := t.value(next, noTime, []byte("new"))
	t.wantFill(k, tier.Fill{Nonce: n, Cell: w, TTL: long}, true)
	t.wantFrame(k, w)
}

func remoteRefreshRefused(t *remoteTest) {
	try := func(name string, seen tier.Nonce) {
		t.Helper()
		before := t.get(t.key(name))
		c := tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: long, Refresh: true}
		t.wantClaimed(t.key(name), c, tier.Claimed{})
		t.wantFrame(t.key(name), before)
	}
	n := tier.NewNonce()
	try("nothing there", n)
	try("nothing there", tier.Nonce{})

	t.wantClaimed(t.key("lease"), tier.Claim{Nonce: n, Lease: long}, granted)
	try("lease", n)

	t.store(t.key("value"), t.value(n, noTime, nil), long)
	try("value", tier.NewNonce())
	try("value", tier.Nonce{})

	t.store(t.key("being refreshed"), t.value(n, time.Now().Add(time.Hour), nil), long)
	try("being refreshed", n)
}

func remoteRefreshLapses(t *remoteTest) {
	k, first, second, third := t.key("a"), tier.NewNonce(), tier.NewNonce(), tier.NewNonce()
	t.store(k, t.value(first, noTime, []byte("v")), long)
	t.wantClaimed(k, tier.Claim{Seen: first, Nonce: second, Lease: long, Refresh: true}, granted)
	t.wantClaimed(k, tier.Claim{Seen: second, Nonce: third, Lease: long, Refresh: true}, tier.Claimed{})
	t.wantFill(k, tier.Fill{Nonce: second}, true)

	// The same with a lease that expires.
	t.wantClaimed(k, tier.Claim{Seen: second, Nonce: first, Lease: short, Refresh: true}, granted)
	t.eventually("a lapsed refresh claim still stands", func() bool {
		return t.claim(k, tier.Claim{Seen: first, Nonce: third, Lease: long, Refresh: true}).Granted
	})
	t.wantFill(k, tier.Fill{Nonce: first, Cell: t.value(first, noTime, nil), TTL: long}, false)
	if got := t.wantParses(t.get(k)); got.Nonce != third || string(got.Payload) != "v" {
		t.Errorf("after the second claim: nonce %x, payload %q", got.Nonce, got.Payload)
	}
}

func remoteRefreshKeepsTTL(t *remoteTest) {
	k, seen := t.key("a"), tier.NewNonce()
	t.store(k, t.value(seen, noTime, nil), short)
	t.wantClaimed(k, tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: long, Refresh: true}, granted)
	t.waitGone(k)
}

func remoteLeaseExpires(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	start := time.Now()
	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: short}, granted)
	t.waitGone(k)
	t.wantAfter(start, short)
	t.wantFill(k, tier.Fill{Nonce: n, Cell: t.value(n, noTime, nil), TTL: long}, false)
	t.wantFrame(k, nil)

	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: short}, granted)
	next := tier.NewNonce()
	t.eventually("an expired lease still refuses", func() bool {
		return t.claim(k, tier.Claim{Nonce: next, Lease: long}).Granted
	})
}

func remoteLeaseRenewed(t *remoteTest) {
	n, other := tier.NewNonce(), tier.NewNonce()
	load, marker := t.key("load"), t.key("marker")
	t.wantClaimed(load, tier.Claim{Nonce: n, Lease: short}, granted)
	t.wantClaimed(load, tier.Claim{Nonce: n, Lease: long}, granted)

	refresh, seen := t.key("refresh"), tier.NewNonce()
	t.store(refresh, t.value(seen, noTime, nil), long)
	t.wantClaimed(refresh, tier.Claim{Seen: seen, Nonce: n, Lease: short, Refresh: true}, granted)
	t.wantClaimed(refresh, tier.Claim{Seen: seen, Nonce: n, Lease: long, Refresh: true}, granted)

	t.wantClaimed(marker, tier.Claim{Nonce: n, Lease: 2 * short}, granted)
	t.waitGone(marker) // by then the first leases would have expired
	t.wantFrame(load, tier.LeaseCell(n))
	t.wantClaimed(refresh, tier.Claim{Seen: n, Nonce: other, Lease: long, Refresh: true}, tier.Claimed{})
}

func remoteValueExpires(t *remoteTest) {
	k := t.key("a")
	start := time.Now()
	t.store(k, t.value(tier.NewNonce(), noTime, nil), short)
	t.waitGone(k)
	t.wantAfter(start, short)

	// A fill's lifetime replaces the lease's, whether it is longer or shorter.
	n := tier.NewNonce()
	v := t.value(n, noTime, nil)
	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: short}, granted)
	t.wantFill(k, tier.Fill{Nonce: n, Cell: v, TTL: long}, true)
	lease := t.key("b")
	t.wantClaimed(lease, tier.Claim{Nonce: n, Lease: 2 * short}, granted)
	t.waitGone(lease) // by then short has passed, too
	t.wantFrame(k, v)
}

func remoteRounding(t *remoteTest) {
	for name, d := range map[string]time.Duration{"nanosecond": 1, "zero": 0, "negative": -time.Second} {
		k, n := t.key(name), tier.NewNonce()
		t.wantClaimed(k, tier.Claim{Nonce: n, Lease: d}, granted)
		t.waitGone(k)
		t.wantClaimed(k, tier.Claim{Nonce: n, Lease: long}, granted)
		t.wantFill(k, tier.Fill{Nonce: n, Cell: t.value(n, noTime, nil), TTL: d}, true)
		t.waitGone(k)
	}
}

// wantAfter fails when less than d has passed, minus the resolution of a clock.
func (t *remoteTest) wantAfter(start time.Time, d time.Duration) {
	t.Helper()
	if took := time.Since(start); took < d-10*time.Millisecond {
		t.Errorf("gone after %v, want not before %v", took, d)
	}
}
