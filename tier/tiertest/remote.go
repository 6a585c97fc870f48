package tiertest

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// TestRemote checks a remote tier against every rule of [tier.Remote]. Each subtest calls newRemote. The tiers that it returns
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
	{"get of nothing", steps()},
	{"claim of an empty key", steps(claim(1), on("b"), claimOver(2, 1))},
	{"claim is refused with the current frame", steps(claim(1), claim(2), claimOver(3, 4), fill(1, value(5)), claim(6))},
	{"claim repeated is granted again", steps(claim(1), claim(1), claimOver(2, 1))},
	{"claim repeated restarts its lease", steps(
		on("refresh"), store(value(1)), lasting(short, refresh(1, 2)), on("load"), lasting(short, claim(2)),
		claim(2), on("refresh"), refresh(1, 2), pass(2*short), on("load"), on("refresh"), refresh(2, 3),
	)},
	{"claim replaces the frame that it saw", steps(claim(1), claimOver(1, 2), fill(2, value(3)), claimOver(3, 1))},
	{"a renewal does not bring a claim back", steps(
		claimOver(1, 1), claim(1), claimOver(1, 1), remove(), claimOver(1, 1),
		fill(1, value(1)), claim(2), claimOver(1, 1),
	)},
	{"an unreadable frame can be claimed", remoteForeign},
	{"bytes without a nonce can be claimed", remoteNoNonce},
	{"fill is a compare-and-set", steps(
		fill(1, value(2)), claim(1), fill(2, value(2)), fill(1, value(2)),
		fill(1, value(2)), // the claim was used
		fill(2, value(3)), // a value has a nonce like a lease: a refresh fills over it
	)},
	{"fill after a removal is refused", steps(claim(1), remove(), fill(1, value(3)), claim(2), fill(1, value(3)))},
	{"fill after a takeover is refused", steps(
		claim(1), claimOver(1, 2), fill(1, value(1)), fill(2, value(2)), fill(1, value(1)),
	)},
	{"the zero nonce gets nothing", remoteZeroNonce},
	{"release of a lease", steps(claim(1), release(1), claim(2))},
	{"release of a refresh claim", steps(store(value(1)), refresh(1, 2), release(2), refresh(2, 3))},
	{"release of nothing", steps(release(1), claim(1), release(2), fill(1, refreshing(3, time.Hour)), release(1))},
	{"refresh claim leaves the value", steps(
		store(refreshing(1, -time.Hour)), refresh(1, 2), refresh(1, 2), fill(2, value(3)),
	)},
	{"refresh claim is refused", steps(
		refresh(1, 2), refresh(0, 2), claim(1), refresh(1, 2),
		on("b"), store(value(1)), refresh(3, 2), refresh(0, 2),
		on("c"), store(refreshing(1, time.Hour)), refresh(1, 2),
	)},
	{"refresh claim lapses", steps(
		store(value(1)), refresh(1, 2), refresh(2, 3), release(2),
		lasting(short, refresh(2, 1)), granted(1, 3, true), fill(1, value(1)),
	)},
	{"refresh claim does not prolong the value", steps(lasting(short, store(value(1))), refresh(1, 2), gone(0))},
	{"lease expires", steps(
		lasting(short, claim(1)), gone(short), fill(1, value(1)),
		lasting(short, claim(1)), granted(0, 2, false), // without a Get in between
	)},
	{"value expires", steps(
		lasting(short, store(value(1))), gone(short),
		lasting(short, claim(1)), fill(1, value(1)), // the fill's lifetime replaces the lease's
		pass(2*short), on("a"),
	)},
	{"lifetimes are rounded up", steps(briefly("nanosecond", 1), briefly("zero", 0), briefly("negative", -time.Second))},
	{"removal of several keys", remoteRemove},
	{"one of many claimers wins", func(t *remoteTest) { contend(t, false) }},
	{"one of many refreshers wins", func(t *remoteTest) { contend(t, true) }},
	{"slices have one owner", remoteSlices},
	{"any bytes in keys and payloads", remoteBinary},
	{"context that is done", remoteContext},
	{"calls for many keys agree with calls for one", remoteMany},
	{"a look claims what is not there", remoteLook},
	{"calls for no keys", remoteNone},
	{"describes itself, and a wrapper without a server", remoteDescribe},
}

const (
	long  = time.Minute            // outlives any subtest
	short = 300 * time.Millisecond // outlives a few calls, and ends soon
	tick  = 10 * time.Millisecond  // the resolution of a clock
)
