package tiertest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// TestRemote checks a remote tier against every rule of [tier.Remote], and of [tier.Batcher] and
// [tier.Pinger] if it implements them. Each subtest calls newRemote. The tiers that it returns
// may share a server, because the suite uses random keys and never looks at others. Rules about
// time are tested with lifetimes of some hundred milliseconds on the real clock.
//
// A claim or fill with the zero nonce may be refused with or without an error.
func TestRemote(t *testing.T, newRemote func(t *testing.T) tier.Remote) {
	t.Helper()
	suitetest.Run(t, remoteTests, func(t *testing.T) *remoteTest { return newRemoteTest(t, newRemote(t)) })
}

// TestRemoteInBubble is [TestRemote] with each subtest in a testing/synctest bubble, where
// waiting takes no time. The tier must live in the process and leave no goroutine behind.
func TestRemoteInBubble(t *testing.T, newRemote func(t *testing.T) tier.Remote) {
	t.Helper()
	suitetest.InBubble(t, remoteTests, func(t *testing.T) *remoteTest { return newRemoteTest(t, newRemote(t)) })
}

var remoteTests = []suitetest.Case[*remoteTest]{
	{"get of nothing", remoteGetNothing},
	{"claim of an empty key", remoteClaimEmpty},
	{"claim is refused with the current frame", remoteClaimRefused},
	{"claim repeated is granted again", remoteClaimRepeated},
	{"claim repeated restarts its lease", remoteLeaseRenewed},
	{"claim replaces the frame that it saw", remoteClaimSeen},
	{"a renewal does not bring a claim back", remoteRenewal},
	{"hold refuses every claim", remoteHold},
	{"an unreadable frame can be claimed", remoteForeign},
	{"bytes without a nonce can be claimed", remoteNoNonce},
	{"fill is a compare-and-set", remoteFill},
	{"fill after unlink is refused", remoteFillAfterUnlink},
	{"fill after a takeover is refused", remoteFillAfterTakeover},
	{"the zero nonce gets nothing", remoteZeroNonce},
	{"release of a lease", remoteReleaseLease},
	{"release of a refresh claim", remoteReleaseRefresh},
	{"release of nothing", remoteReleaseNothing},
	{"refresh claim leaves the value", remoteRefresh},
	{"refresh claim is refused", remoteRefreshRefused},
	{"refresh claim lapses", remoteRefreshLapses},
	{"refresh claim does not prolong the value", remoteRefreshKeepsTTL},
	{"lease expires", remoteLeaseExpires},
	{"value expires", remoteValueExpires},
	{"lifetimes are rounded up", remoteRounding},
	{"unlink of several keys", remoteUnlink},
	{"one of many claimers wins", remoteOneWinner},
	{"one of many refreshers wins", remoteOneRefresher},
	{"slices have one owner", remoteSlices},
	{"any bytes in keys and payloads", remoteBinary},
	{"context that is done", remoteContext},
	{"batches agree with single calls", remoteBatches},
	{"a look claims what is not there", remoteLook},
	{"empty batches", remoteEmptyBatches},
	{"ping", remotePing},
}

const (
	long  = time.Minute            // outlives any subtest
	short = 300 * time.Millisecond // outlives a few calls, and ends soon
)

// remoteTest is one subtest: the tier, and helpers that fail the test.
type remoteTest struct {
	*testing.T
	r   tier.Remote
	run string // random, so runs on one server use different keys
}

func newRemoteTest(t *testing.T, r tier.Remote) *remoteTest {
	return &remoteTest{T: t, r: r, run: fmt.Sprintf("%x", tier.NewNonce())}
}

func (t *remoteTest) key(name string) string { return t.run + ":" + name }

func (t *remoteTest) ctx() context.Context { return t.Context() }

func (t *remoteTest) get(key string) []byte {
	t.Helper()
	b, err := t.r.Get(t.ctx(), key)
	if err != nil {
		t.Fatalf("Get = %v", err)
	}
	return b
}

func (t *remoteTest) claim(key string, c tier.Claim) tier.Claimed {
	t.Helper()
	got, err := t.r.Claim(t.ctx(), key, c)
	if err != nil {
		t.Fatalf("Claim(%+v) = %v", c, err)
	}
	return got
}

func (t *remoteTest) fill(key string, f tier.Fill) bool {
	t.Helper()
	ok, err := t.r.Fill(t.ctx(), key, f)
	if err != nil {
		t.Fatalf("Fill = %v", err)
	}
	return ok
}

func (t *remoteTest) unlink(keys ...string) {
	t.Helper()
	if err := t.r.Unlink(t.ctx(), keys...); err != nil {
		t.Fatalf("Unlink = %v", err)
	}
}

func (t *remoteTest) wantFrame(key string, want []byte) {
	t.Helper()
	if got := t.get(key); !same(got, want) {
		t.Fatalf("frame is %s, want %s", describe(got), describe(want))
	}
}

func (t *remoteTest) wantClaimed(key string, c tier.Claim, want tier.Claimed) {
	t.Helper()
	if got := t.claim(key, c); got.Granted != want.Granted || !same(got.Cell, want.Cell) {
		t.Fatalf("Claim(%+v) = %v, %s; want %v, %s", c, got.Granted, describe(got.Cell), want.Granted, describe(want.Cell))
	}
}

func (t *remoteTest) wantFill(key string, f tier.Fill, want bool) {
	t.Helper()
	if got := t.fill(key, f); got != want {
		t.Fatalf("Fill = %v, want %v", got, want)
	}
}

// store puts frame under key with a claim and a fill.
func (t *remoteTest) store(key string, frame []byte, ttl time.Duration) {
	t.Helper()
	n := tier.NewNonce()
	t.wantClaimed(key, tier.Claim{Nonce: n, Lease: long}, granted)
	t.wantFill(key, tier.Fill{Nonce: n, Cell: frame, TTL: ttl}, true)
}

// waitGone polls until key is empty. A frame that outlives the deadline never expires.
func (t *remoteTest) waitGone(key string) {
	t.Helper()
	t.eventually("the frame is still there", func() bool { return t.get(key) == nil })
}

func (t *remoteTest) eventually(what string, check func() bool) {
	t.Helper()
	localtest.Eventually(t.T, late, func() (string, bool) { return what, check() })
}

var granted = tier.Claimed{Granted: true}

// value returns an encoded value cell that carries nonce and payload.
func (t *remoteTest) value(nonce tier.Nonce, refreshUntil time.Time, payload []byte) []byte {
	t.Helper()
	c := tier.Cell{
		Nonce: nonce, ScopePos: 1 << 40, KeyPos: 7, SoftAt: 1, HardAt: 2, LoadedAt: 3,
		Tags: []uint64{1, 1<<64 - 1}, Schema: 5, Echo: 6, Codec: "raw", Payload: payload,
	}
	if !refreshUntil.IsZero() {
		c.RefreshUntil = refreshUntil.UnixMilli()
	}
	b, err := c.Encode()
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	return b
}

// same compares two frames. It tells nil from an empty frame.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// describe describes a frame in one line.
func describe(frame []byte) string {
	if frame == nil {
		return "none"
	}
	return fmt.Sprintf("%.48q (%d bytes)", frame, len(frame))
}
