package tier_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var (
	mine   = tier.Nonce{1, 1}
	seen   = tier.Nonce{2, 2}
	others = tier.Nonce{3, 3}
	clock  = time.UnixMilli(1_700_000_000_000)
)

// valueOf returns the frame of a value that may be claimed for refresh after until.
func valueOf(t testing.TB, n tier.Nonce, until int64) []byte {
	c := example()
	c.Nonce, c.RefreshUntil = n, until
	return encode(t, c)
}

// garbage returns a frame of an unknown kind.
func garbage(n tier.Nonce, more int) []byte {
	return append(append([]byte{'?'}, n[:]...), make([]byte, more)...)
}

func TestClaimOver(t *testing.T) {
	const lease = 2 * time.Second
	now := clock.UnixMilli()
	fresh := func(seen tier.Nonce) tier.Claim { return tier.Claim{Seen: seen, Nonce: mine, Lease: lease} }
	refresh := func(seen tier.Nonce) tier.Claim {
		return tier.Claim{Seen: seen, Nonce: mine, Lease: lease, Refresh: true}
	}
	look := tier.Claim{Nonce: mine, Lease: lease, Look: true}
	put := tier.Change{Act: tier.ActPut, Frame: tier.LeaseCell(mine), TTL: lease}
	patch := tier.Change{Act: tier.ActPatch, Frame: valueOf(t, mine, now+2000)}
	granted, refused, keep := tier.Claimed{Granted: true}, tier.Claimed{}, tier.Change{}
	shown := func(frame []byte) tier.Claimed { return tier.Claimed{Cell: frame} }
	for _, tc := range []struct {
		name  string
		frame []byte
		claim tier.Claim
		want  tier.Change
		ans   tier.Claimed
	}{
		{"nothing there", nil, fresh(tier.Nonce{}), put, granted},
		{"what was seen is gone", nil, fresh(seen), put, granted},
		{"empty", []byte{}, fresh(seen), put, granted},
		{"eight bytes", garbage(mine, 0)[:8], fresh(seen), put, granted},
		{"eight bytes of a lease", tier.LeaseCell(others)[:8], fresh(tier.Nonce{}), put, granted},
		{"zero nonce", garbage(tier.Nonce{}, 40), fresh(seen), put, granted},
		{"lease of another", tier.LeaseCell(others), fresh(tier.Nonce{}), keep, shown(tier.LeaseCell(others))},
		{"lease of another, seen something else", tier.LeaseCell(others), fresh(seen), keep, shown(tier.LeaseCell(others))},
		{"lease that was seen", tier.LeaseCell(seen), fresh(seen), put, granted},
		{"value that was seen", valueOf(t, seen, 0), fresh(seen), put, granted},
		{"value of another", valueOf(t, others, 0), fresh(tier.Nonce{}), keep, shown(valueOf(t, others, 0))},
		{"garbage that was seen", garbage(seen, 0), fresh(seen), put, granted},
		{"garbage of another", garbage(others, 3), fresh(seen), keep, shown(garbage(others, 3))},

		{"repeated", tier.LeaseCell(mine), fresh(others), put, granted},
		{"repeated over a value", valueOf(t, mine, 5), fresh(seen), keep, granted},
		{"repeated over garbage", garbage(mine, 30), refresh(seen), keep, granted},
		{"repeated refresh", valueOf(t, mine, now+1), refresh(seen), patch, granted},
		{"repeated refresh over a torn value", valueOf(t, mine, 0)[:32], refresh(seen), keep, granted},
		{"repeated refresh over a lease", tier.LeaseCell(mine), refresh(seen), put, granted},

		{"renewed", tier.LeaseCell(mine), fresh(mine), put, granted},
		{"renewed refresh", valueOf(t, mine, now+1), refresh(mine), patch, granted},
		{"renewed refresh after its fill", valueOf(t, mine, 0), refresh(mine), keep, granted},
		{"renewed, gone", nil, fresh(mine), keep, refused},
		{"renewed, taken away", tier.LeaseCell(others), fresh(mine), keep, refused},
		{"renewed over no nonce", garbage(tier.Nonce{}, 0), fresh(mine), keep, refused},
		{"renewed refresh, gone", nil, refresh(mine), keep, refused},

		{"refresh", valueOf(t, seen, 0), refresh(seen), patch, granted},
		{"refresh that lapsed", valueOf(t, seen, now-1), refresh(seen), patch, granted},
		{"refresh that lapsed long ago", valueOf(t, seen, math.MinInt64), refresh(seen), patch, granted},
		{"refresh that ends now", valueOf(t, seen, now), refresh(seen), keep, refused},
		{"refresh that stands", valueOf(t, seen, math.MaxInt64), refresh(seen), keep, refused},
		{"refresh of the header alone", valueOf(t, seen, 0)[:33], refresh(seen), tier.Change{Act: tier.ActPatch, Frame: patch.Frame[:33]}, granted},
		{"refresh of a torn value", valueOf(t, seen, 0)[:32], refresh(seen), keep, refused},
		{"refresh of another value", valueOf(t, others, 0), refresh(seen), keep, refused},
		{"refresh of a value without a nonce", valueOf(t, tier.Nonce{}, 0), refresh(tier.Nonce{}), keep, refused},
		{"refresh of a lease", tier.LeaseCell(seen), refresh(seen), keep, refused},
		{"refresh of garbage", garbage(seen, 40), refresh(seen), keep, refused},
		{"refresh of nothing", nil, refresh(tier.Nonce{}), keep, refused},

		{"look at nothing", nil, look, put, granted},
		{"look at a value", valueOf(t, others, 0), look, keep, shown(valueOf(t, others, 0))},
		{"look at a lease", tier.LeaseCell(others), look, keep, shown(tier.LeaseCell(others))},
		{"look at no nonce", garbage(tier.Nonce{}, 3), look, keep, shown(garbage(tier.Nonce{}, 3))},
		{"look at an empty frame", []byte{}, look, keep, shown([]byte{})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := bytes.Clone(tc.frame)
			ch, ans, err := tc.claim.Over(tc.frame, clock)
			if err != nil || !cmp.Equal(ch, tc.want) || !cmp.Equal(ans, tc.ans) {
				t.Errorf("Over = %+v, %+v, %v\nwant %+v, %+v", ch, ans, err, tc.want, tc.ans)
			}
			clear(ch.Frame)
			clear(ans.Cell)
			if !bytes.Equal(tc.frame, before) {
				t.Errorf("Over changed its argument, or answers with it")
			}
		})
	}
}

func TestFillOver(t *testing.T) {
	cell := valueOf(t, others, 0)
	store := tier.Fill{Nonce: mine, Cell: cell, TTL: time.Minute}
	release := tier.Fill{Nonce: mine}
	put := tier.Change{Act: tier.ActPut, Frame: bytes.Clone(cell), TTL: time.Minute}
	for _, tc := range []struct {
		name  string
		frame []byte
		fill  tier.Fill
		want  tier.Change
		ok    bool
	}{
		{"claimed", tier.LeaseCell(mine), store, put, true},
		{"claimed for refresh", valueOf(t, mine, 9), store, put, true},
		{"own garbage", garbage(mine, 0), store, put, true},
		{"gone", nil, store, tier.Change{}, false},
		{"taken away", tier.LeaseCell(others), store, tier.Change{}, false},
		{"too short", tier.LeaseCell(mine)[:8], store, tier.Change{}, false},
		{"release", tier.LeaseCell(mine), release, tier.Change{Act: tier.ActDrop}, true},
		{"release of a refresh", valueOf(t, mine, 9), release, tier.Change{Act: tier.ActPatch, Frame: valueOf(t, mine, 0)}, true},
		{"release of a torn value", valueOf(t, mine, 9)[:32], release, tier.Change{}, false},
		{"release of nothing", nil, release, tier.Change{}, false},
		{"release of another's", tier.LeaseCell(others), release, tier.Change{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := bytes.Clone(tc.frame)
			ch, ok, err := tc.fill.Over(tc.frame)
			if err != nil || ok != tc.ok || !cmp.Equal(ch, tc.want) {
				t.Errorf("Over = %+v, %v, %v\nwant %+v, %v", ch, ok, err, tc.want, tc.ok)
			}
			clear(ch.Frame)
			if !bytes.Equal(tc.frame, before) || !bytes.Equal(cell, put.Frame) {
				t.Errorf("Over changed an argument, or answers with it")
			}
		})
	}
}

func TestOverRefusesTheZeroNonce(t *testing.T) {
	for _, frame := range [][]byte{nil, tier.LeaseCell(tier.Nonce{}), tier.LeaseCell(others)} {
		if ch, ans, err := (tier.Claim{Lease: 1}).Over(frame, clock); !errors.Is(err, tier.ErrNonce) || ans.Granted || ch.Act != tier.ActKeep {
			t.Errorf("Claim.Over(%q) = %v, %v, %v; want %v", frame, ch, ans, err, tier.ErrNonce)
		}
		if ch, ok, err := (tier.Fill{Cell: []byte("cell")}).Over(frame); !errors.Is(err, tier.ErrNonce) || ok || ch.Act != tier.ActKeep {
			t.Errorf("Fill.Over(%q) = %v, %v, %v; want %v", frame, ch, ok, err, tier.ErrNonce)
		}
	}
}

func TestOverRoundsUp(t *testing.T) {
	const most = math.MaxInt64 / int64(time.Millisecond) * int64(time.Millisecond)
	for d, want := range map[time.Duration]time.Duration{
		math.MinInt64: time.Millisecond, -time.Second: time.Millisecond, 0: time.Millisecond, 1: time.Millisecond,
		time.Millisecond: time.Millisecond, time.Millisecond + 1: 2 * time.Millisecond, math.MaxInt64: time.Duration(most),
	} {
		claim, _, _ := tier.Claim{Nonce: mine, Lease: d}.Over(nil, clock)
		fill, _, _ := tier.Fill{Nonce: mine, Cell: []byte("cell"), TTL: d}.Over(tier.LeaseCell(mine))
		if claim.TTL != want || fill.TTL != want {
			t.Errorf("lifetime of %v: claim %v, fill %v; want %v", d, claim.TTL, fill.TTL, want)
		}
		refresh, _, _ := tier.Claim{Nonce: mine, Lease: d, Refresh: true}.Over(valueOf(t, mine, 1), clock)
		until := int64(binary.BigEndian.Uint64(refresh.Frame[tier.RefreshAt:]))
		if until != clock.UnixMilli()+want.Milliseconds() {
			t.Errorf("refresh claim of %v ends after %d ms, want %v", d, until-clock.UnixMilli(), want)
		}
	}
}

func TestHead(t *testing.T) {
	for frame, want := range map[string]tier.Kind{
		"": 0, "V": 0, "L1234567": 0, "L12345678": tier.KindLease, "V12345678and more": tier.KindValue, "?12345678": '?',
	} {
		kind, nonce := tier.Head([]byte(frame))
		if kind != want || (want != 0) != (string(nonce[:]) == "12345678") {
			t.Errorf("Head(%q) = %q, %q; want kind %q", frame, kind, nonce, want)
		}
	}
}

// The tier of the example obeys every rule.
func TestExample(t *testing.T) {
	tiertest.TestRemoteInBubble(t, func(*testing.T) tier.Remote { return new(shelf) })
}
