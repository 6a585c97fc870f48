package tiertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
)

// remoteForeign tests garbage under a key: a reader must be able to load and overwrite it.
func remoteForeign(t *remoteTest) {
	nonce := t.nonce(1)
	t.wantOverwritten(append([]byte{'?'}, nonce[:]...), nonce) // unknown type
	t.wantOverwritten(append([]byte{'V'}, nonce[:]...), nonce) // torn value
}

// remoteNoNonce tests bytes without a nonce. Any claim may overwrite them, with any Seen, so no reader
// has to remove them first.
func remoteNoNonce(t *remoteTest) {
	saw := t.nonce(1)
	for _, frame := range [][]byte{
		[]byte("??"), tier.LeaseCell(saw)[:8], []byte("V"), // too short
		append([]byte{'?'}, make([]byte, 20)...), tier.LeaseCell(tier.Nonce{}), t.value(tier.Nonce{}, noTime, nil), // zero
	} {
		t.wantOverwritten(frame, tier.Nonce{})
		t.wantOverwritten(frame, saw)
	}
}

// wantOverwritten fails unless a claim that saw seen is granted over frame, and a claim for
// refresh is refused.
func (t *remoteTest) wantOverwritten(frame []byte, seen tier.Nonce) {
	t.Helper()
	k := t.key(fmt.Sprintf("%q over %x", frame, seen))
	t.store(k, frame, long)
	t.claim(k, tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: long, Refresh: true})
	t.claim(k, tier.Claim{Seen: seen, Nonce: tier.NewNonce(), Lease: long})
}

func remoteZeroNonce(t *remoteTest) {
	k := t.key("a")
	t.claim(k, tier.Claim{Lease: long})
	t.claimMany([]string{k}, []tier.Claim{{Lease: long, Seen: tier.NewNonce()}})
	t.fill(k, tier.Fill{Cell: t.value(tier.NewNonce(), noTime, nil), TTL: long})
}

func remoteRemove(t *remoteTest) {
	var keys []string
	for _, name := range []string{"a", "b", "c", "d", "stays"} {
		keys = append(keys, t.key(name))
		t.store(t.key(name), t.value(tier.NewNonce(), noTime, nil), long)
	}
	lease := t.key("lease")
	t.claim(lease, tier.Claim{Nonce: t.nonce(1), Lease: long})
	t.remove(append(keys[:4:4], lease, t.key("never there"), keys[0])...)
	t.check(t.key("stays"))
	t.remove()
}

// contend makes many callers claim one key concurrently, either an empty one or a value for refresh. The
// losers of a plain claim must get the winner's lease.
func contend(t *remoteTest, refresh bool) {
	seen := t.nonce(1)
	for round := range 5 {
		k := t.key(string(rune('a' + round)))
		if refresh {
			t.store(k, t.value(seen, noTime, nil), long)
		}
		claims := make([]tier.Claim, 24)
		answers := make([]tier.Claimed, len(claims))
		var wg sync.WaitGroup
		for i := range claims {
			claims[i] = tier.Claim{Nonce: tier.NewNonce(), Lease: long, Refresh: refresh}
			if refresh {
				claims[i].Seen = seen
			}
			wg.Go(func() {
				var err error
				if answers[i], err = tiercall.Claim(t.Context(), t.r, k, claims[i]); err != nil {
					t.Errorf("Claim = %v", err)
				}
			})
		}
		wg.Wait()
		winner := slices.IndexFunc(answers, func(a tier.Claimed) bool { return a.Granted })
		if winner < 0 {
			t.Fatalf("none of %d concurrent claims was granted", len(claims))
		}
		t.claimed(k, claims[winner], answers[winner], nil)
		for i, a := range answers {
			if i != winner { // a second one that is granted fails
				t.claimed(k, claims[i], a, nil)
			}
		}
		t.check(k)
	}
}

func remoteSlices(t *remoteTest) {
	k := t.key("a")
	t.claim(k, tier.Claim{Nonce: t.nonce(1), Lease: long})
	passed := t.value(t.nonce(2), noTime, []byte("payload"))
	t.fill(k, tier.Fill{Nonce: t.nonce(1), Cell: passed, TTL: long})
	clear(passed)
	t.check(k)

	clear(t.get(k)) // the caller owns the slice
	t.check(k)
	clear(t.claim(k, tier.Claim{Nonce: t.nonce(1), Lease: long}).Cell)
	t.check(k)
	clear(t.getMany(k, k)[0])
	t.check(k)
	got := t.getMany(k, k)
	clear(got[0])
	if !bytes.Equal(got[1], t.cells[k].frame) {
		t.Errorf("two answers of one Get share memory")
	}
}

func remoteBinary(t *remoteTest) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for key, payload := range map[string][]byte{
		"empty payload":                          nil,
		"zeros \x00\x00":                         make([]byte, 64),
		string(all):                              all,
		"{tag} \r\n$5\r\n":                       []byte("\r\n$-1\r\n*2\r\n"),
		string(bytes.Repeat([]byte("k"), 1<<10)): []byte("long key"),
		"big":                                    bytes.Repeat(all, 4<<10), // 1 MiB
	} {
		k := t.key(key)
		t.store(k, t.value(t.nonce(1), noTime, payload), long)
		t.claim(k, tier.Claim{Nonce: t.nonce(2), Lease: long}) // refused, with the frame
		t.remove(k)
	}
}

func remoteContext(t *remoteTest) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	keys := []string{t.key("a"), t.key("b")}
	claim := tier.Claim{Nonce: t.nonce(1), Lease: long}
	fill := tier.Fill{Nonce: t.nonce(1), Cell: t.value(t.nonce(1), noTime, nil), TTL: long}
	for op, call := range map[string]func() error{
		"Get":           func() error { _, err := tiercall.GetMany(ctx, t.r, keys); return err },
		"Claim":         func() error { _, err := tiercall.ClaimMany(ctx, t.r, keys, []tier.Claim{claim, claim}); return err },
		"Fill":          func() error { _, err := tiercall.FillMany(ctx, t.r, keys, []tier.Fill{fill, fill}); return err },
		"Remove":        func() error { return t.r.Remove(ctx, keys) },
		"Get of one":    func() error { _, err := tiercall.Get(ctx, t.r, keys[0]); return err },
		"Claim of one":  func() error { _, err := tiercall.Claim(ctx, t.r, keys[0], claim); return err },
		"Fill of one":   func() error { _, err := tiercall.Fill(ctx, t.r, keys[0], fill); return err },
		"Remove of one": func() error { return t.r.Remove(ctx, keys[:1]) },
	} {
		if call() == nil {
			t.Errorf("%s with a context that is done = nil, want an error", op)
		}
	}
	t.check(keys[0])
}

// remoteMany makes each call on keys in all known states.
func remoteMany(t *remoteTest) {
	var keys []string
	var claims []tier.Claim
	var fills []tier.Fill
	// Two claims of one value: the second is granted when the first is refused.
	for i, name := range []string{"empty", "value", "lease", "gone", "refresh", "value", "release"} {
		n := t.nonce(10 + i)
		keys = append(keys, t.key(name))
		claims = append(claims, tier.Claim{Nonce: n, Lease: long})
		fills = append(fills, tier.Fill{Nonce: n, Cell: t.value(n, noTime, []byte(name)), TTL: long})
	}
	claims[3].Seen, claims[4].Seen, claims[5].Seen = t.nonce(1), t.nonce(1), t.nonce(1)
	claims[4].Refresh = true
	fills[6].Cell = nil
	steps(
		on("value"), store(value(1)), on("lease"), claim(1), on("refresh"), store(value(1)),
	)(t)
	t.getMany(keys...)
	t.claimMany(keys, claims)
	filled, err := tiercall.FillMany(t.Context(), t.r, keys, fills)
	for i, ok := range filled {
		t.filled(keys[i], fills[i], ok, err)
	}
	t.getMany(keys...)
}

func (t *remoteTest) claimMany(keys []string, claims []tier.Claim) {
	t.Helper()
	claimed, err := tiercall.ClaimMany(t.Context(), t.r, keys, claims)
	for i, got := range claimed {
		t.claimed(keys[i], claims[i], got, err)
	}
	for _, k := range keys {
		t.check(k)
	}
}

func (t *remoteTest) getMany(keys ...string) [][]byte {
	t.Helper()
	got, err := tiercall.GetMany(t.Context(), t.r, keys)
	for i, k := range keys {
		if t.check(k); err != nil || !same(got[i], t.cells[k].frame) {
			t.failf("Get = %s for key %d, %v; want %s", describe(got[i]), i, err, describe(t.cells[k].frame))
		}
	}
	return got
}

func remoteNone(t *remoteTest) {
	for op, err := range map[string]error{
		"Get": t.r.Get(t.Context(), nil, nil), "Claim": t.r.Claim(t.Context(), nil, nil, nil),
		"Fill": t.r.Fill(t.Context(), nil, nil, nil), "Remove": t.r.Remove(t.Context(), nil),
	} {
		if err != nil {
			t.Errorf("%s of no keys = %v, want nil", op, err)
		}
	}
}

func remoteDescribe(t *remoteTest) {
	if err := t.r.Validate(); err != nil {
		t.Errorf("Validate = %v, want nil", err)
	}
	own := t.r.Describe(t.r)
	if own.Name == "" || own != t.r.Describe(t.r) {
		t.Errorf("Describe = %+v, then %+v; want a name, and the same again", own, t.r.Describe(t.r))
	}
	wrapped := t.r.Describe(struct{ tier.Remote }{t.r})
	if own.Server, own.Prefix, wrapped.Prefix = "", "", ""; wrapped != own {
		t.Errorf("Describe of a wrapper = %+v, want %+v", wrapped, own)
	}
}
