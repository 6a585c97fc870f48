package tiertest

import (
	"bytes"
	"time"

	"github.com/twofold-go/twofold/tier"
)

var noTime time.Time

func remoteFill(t *remoteTest) {
	k, n, other := t.key("a"), tier.NewNonce(), tier.NewNonce()
	v := t.value(other, noTime, []byte("one"))
	t.wantFill(k, tier.Fill{Nonce: n, Cell: v, TTL: long}, false) // nothing there
	t.wantFrame(k, nil)

	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: long}, granted)
	t.wantFill(k, tier.Fill{Nonce: other, Cell: v, TTL: long}, false) // foreign
	t.wantFrame(k, tier.LeaseCell(n))
	t.wantFill(k, tier.Fill{Nonce: n, Cell: v, TTL: long}, true)
	t.wantFrame(k, v)
	t.wantFill(k, tier.Fill{Nonce: n, Cell: v, TTL: long}, false) // the claim was used
	t.wantFrame(k, v)

	// A value has a nonce like a lease: a refresh fills over it.
	w := t.value(tier.NewNonce(), noTime, []byte("two"))
	t.wantFill(k, tier.Fill{Nonce: other, Cell: w, TTL: long}, true)
	t.wantFrame(k, w)
}

func remoteFillAfterUnlink(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: long}, granted)
	t.unlink(k)
	t.wantFrame(k, nil)
	v := t.value(tier.NewNonce(), noTime, []byte("late"))
	t.wantFill(k, tier.Fill{Nonce: n, Cell: v, TTL: long}, false)
	t.wantFrame(k, nil)

	next := tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: next, Lease: long}, granted)
	t.wantFill(k, tier.Fill{Nonce: n, Cell: v, TTL: long}, false)
	t.wantFrame(k, tier.LeaseCell(next))
}

func remoteFillAfterTakeover(t *remoteTest) {
	k, slow, fast := t.key("a"), tier.NewNonce(), tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: slow, Lease: long}, granted)
	t.wantClaimed(k, tier.Claim{Seen: slow, Nonce: fast, Lease: long}, granted)
	t.wantFill(k, tier.Fill{Nonce: slow, Cell: t.value(slow, noTime, nil), TTL: long}, false)
	v := t.value(fast, noTime, []byte("fast"))
	t.wantFill(k, tier.Fill{Nonce: fast, Cell: v, TTL: long}, true)
	t.wantFill(k, tier.Fill{Nonce: slow, Cell: t.value(slow, noTime, nil), TTL: long}, false)
	t.wantFrame(k, v)
}

func remoteReleaseLease(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: long}, granted)
	t.wantFill(k, tier.Fill{Nonce: n}, true)
	t.wantFrame(k, nil)
	t.wantClaimed(k, tier.Claim{Nonce: tier.NewNonce(), Lease: long}, granted)
}

func remoteReleaseRefresh(t *remoteTest) {
	k, seen, n := t.key("a"), tier.NewNonce(), tier.NewNonce()
	v := t.value(seen, noTime, []byte("kept"))
	t.store(k, v, long)
	t.wantClaimed(k, tier.Claim{Seen: seen, Nonce: n, Lease: long, Refresh: true}, granted)
	t.wantFill(k, tier.Fill{Nonce: n}, true)

	want := bytes.Clone(v)
	copy(want[1:], n[:])
	clear(want[tier.RefreshAt:tier.HeaderSize])
	t.wantFrame(k, want)
	t.wantParses(want)
	t.wantClaimed(k, tier.Claim{Seen: n, Nonce: tier.NewNonce(), Lease: long, Refresh: true}, granted)
}

func remoteReleaseNothing(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	t.wantFill(k, tier.Fill{Nonce: n}, false)
	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: long}, granted)
	t.wantFill(k, tier.Fill{Nonce: tier.NewNonce()}, false)
	t.wantFrame(k, tier.LeaseCell(n))

	v := t.value(tier.NewNonce(), time.Now().Add(time.Hour), []byte("kept"))
	t.wantFill(k, tier.Fill{Nonce: n, Cell: v, TTL: long}, true)
	t.wantFill(k, tier.Fill{Nonce: n}, false) // filled meanwhile
	t.wantFrame(k, v)
}

func remoteSlices(t *remoteTest) {
	k, n := t.key("a"), tier.NewNonce()
	t.wantClaimed(k, tier.Claim{Nonce: n, Lease: long}, granted)
	v := t.value(tier.NewNonce(), noTime, []byte("payload"))
	passed := bytes.Clone(v)
	t.wantFill(k, tier.Fill{Nonce: n, Cell: passed, TTL: long}, true)
	clear(passed)
	t.wantFrame(k, v)

	clear(t.get(k)) // the caller owns the slice
	t.wantFrame(k, v)
	clear(t.claim(k, tier.Claim{Nonce: n, Lease: long}).Cell)
	t.wantFrame(k, v)
	got, err := tier.GetMany(t.ctx(), t.r, []string{k, k})
	if err != nil {
		t.Fatalf("GetMany = %v", err)
	}
	clear(got[0])
	if !bytes.Equal(got[1], v) {
		t.Errorf("two answers of one GetMany share memory")
	}
	t.wantFrame(k, v)
}

func remoteBinary(t *remoteTest) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	big := bytes.Repeat(all, 4<<10) // 1 MiB
	for i, tc := range []struct {
		key     string
		payload []byte
	}{
		{"empty payload", nil},
		{"zeros \x00\x00", make([]byte, 64)},
		{string(all), all},
		{"{tag} \r\n$5\r\n", []byte("\r\n$-1\r\n*2\r\n")},
		{string(bytes.Repeat([]byte("k"), 1<<10)), []byte("long key")},
		{"big", big},
	} {
		n := tier.NewNonce()
		k, v := t.key(tc.key), t.value(n, noTime, tc.payload)
		t.store(k, v, long)
		if !bytes.Equal(t.get(k), v) {
			t.Errorf("case %d: Get differs from what was filled", i)
		}
		got := t.claim(k, tier.Claim{Nonce: tier.NewNonce(), Lease: long})
		if got.Granted || !bytes.Equal(got.Cell, v) {
			t.Errorf("case %d: a refused claim brings a frame that differs from what was filled", i)
		}
		t.unlink(k)
		t.wantFrame(k, nil)
	}
}

// wantParses fails unless frame passes all checks of [tier.ParseCell].
func (t *remoteTest) wantParses(frame []byte) tier.Cell {
	t.Helper()
	c, err := tier.ParseCell(frame)
	if err != nil {
		t.Fatalf("ParseCell = %v", err)
	}
	return c
}
