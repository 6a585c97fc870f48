package tiertest

import (
	"time"

	"github.com/twofold-go/twofold/tier"
)

func remoteRefreshLapses(t *remoteTest) {
	steps(store(value(1)), refresh(1, 2), refresh(2, 3), release(2))(t)
	// The same with a lease that expires.
	t.claim(t.at, tier.Claim{Seen: t.nonce(2), Nonce: t.nonce(1), Lease: short, Refresh: true})
	c := tier.Claim{Seen: t.nonce(1), Nonce: t.nonce(3), Lease: long, Refresh: true}
	t.eventually("a lapsed refresh claim still stands", func() bool {
		got, err := t.r.Claim(t.Context(), t.at, c)
		return err == nil && got.Granted
	})
	ch, _, _ := c.Over(t.cells[t.at].frame, time.Now().Add(long))
	t.changed(t.at, ch, true)
	t.fill(t.at, tier.Fill{Nonce: t.nonce(1), Cell: value(1)(t), TTL: long})
}

func remoteRefreshKeepsTTL(t *remoteTest) {
	k := t.key("a")
	t.store(k, t.value(t.nonce(1), noTime, nil), short)
	t.claim(k, tier.Claim{Seen: t.nonce(1), Nonce: t.nonce(2), Lease: long, Refresh: true})
	t.waitGone(k)
}

func remoteLeaseExpires(t *remoteTest) {
	k := t.key("a")
	start := time.Now()
	t.claim(k, tier.Claim{Nonce: t.nonce(1), Lease: short})
	t.waitGone(k)
	t.wantAfter(start, short)
	t.fill(k, tier.Fill{Nonce: t.nonce(1), Cell: value(1)(t), TTL: long})

	t.claim(k, tier.Claim{Nonce: t.nonce(1), Lease: short})
	t.eventually("an expired lease still refuses", func() bool {
		got, err := t.r.Claim(t.Context(), k, tier.Claim{Nonce: t.nonce(2), Lease: long})
		return err == nil && got.Granted
	})
}

func remoteLeaseRenewed(t *remoteTest) {
	load, refresh, marker := t.key("load"), t.key("refresh"), t.key("marker")
	t.store(refresh, value(1)(t), long)
	for _, lease := range []time.Duration{short, long} {
		t.claim(load, tier.Claim{Nonce: t.nonce(2), Lease: lease})
		t.claim(refresh, tier.Claim{Seen: t.nonce(1), Nonce: t.nonce(2), Lease: lease, Refresh: true})
	}
	t.claim(marker, tier.Claim{Nonce: t.nonce(2), Lease: 2 * short})
	t.waitGone(marker) // by then the first leases would have expired
	t.check(load)
	t.claim(refresh, tier.Claim{Seen: t.nonce(2), Nonce: t.nonce(3), Lease: long, Refresh: true})
}

func remoteValueExpires(t *remoteTest) {
	k := t.key("a")
	start := time.Now()
	t.store(k, value(1)(t), short)
	t.waitGone(k)
	t.wantAfter(start, short)

	// A fill's lifetime replaces the lease's, whether it is longer or shorter.
	t.claim(k, tier.Claim{Nonce: t.nonce(1), Lease: short})
	t.fill(k, tier.Fill{Nonce: t.nonce(1), Cell: value(1)(t), TTL: long})
	marker := t.key("b")
	t.claim(marker, tier.Claim{Nonce: t.nonce(1), Lease: 2 * short})
	t.waitGone(marker) // by then short has passed, too
	t.check(k)
}

func remoteRounding(t *remoteTest) {
	for name, d := range map[string]time.Duration{"nanosecond": 1, "zero": 0, "negative": -time.Second} {
		k, n := t.key(name), tier.NewNonce()
		t.claim(k, tier.Claim{Nonce: n, Lease: d})
		t.waitGone(k)
		t.claim(k, tier.Claim{Nonce: n, Lease: long})
		t.fill(k, tier.Fill{Nonce: n, Cell: t.value(n, noTime, nil), TTL: d})
		t.waitGone(k)
	}
}
