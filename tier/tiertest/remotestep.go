package tiertest

import (
	"time"

	"github.com/twofold-go/twofold/tier"
)

// step is one call, or a few, on one key. Nonces are numbered; number 0 is the zero nonce. What must
// come of it follows from the steps before; see [remoteTest].
type step func(t *remoteTest)

// steps returns a case that takes the steps, at first on the key "a".
func steps(all ...step) func(t *remoteTest) {
	return func(t *remoteTest) {
		on("a")(t)
		for i, s := range all {
			t.step = i + 1
			s(t)
		}
	}
}

// on makes the next steps use another key.
func on(key string) step {
	return func(t *remoteTest) {
		t.at = t.key(key)
		t.check(t.at)
	}
}

func claim(n int) step { return claimOver(0, n) }

func claimOver(seen, n int) step {
	return func(t *remoteTest) { t.claim(t.at, tier.Claim{Seen: t.nonce(seen), Nonce: t.nonce(n), Lease: long}) }
}

func refresh(seen, n int) step {
	return func(t *remoteTest) {
		t.claim(t.at, tier.Claim{Seen: t.nonce(seen), Nonce: t.nonce(n), Lease: long, Refresh: true})
	}
}

func fill(n int, cell frame) step {
	return func(t *remoteTest) { t.fill(t.at, tier.Fill{Nonce: t.nonce(n), Cell: cell(t), TTL: long}) }
}

func release(n int) step {
	return func(t *remoteTest) { t.fill(t.at, tier.Fill{Nonce: t.nonce(n)}) }
}

func unlink() step { return func(t *remoteTest) { t.unlink(t.at) } }

// store puts a frame under the key with a claim and a fill.
func store(cell frame) step { return func(t *remoteTest) { t.store(t.at, cell(t), long) } }

// frame makes the bytes of a cell.
type frame func(t *remoteTest) []byte

func value(n int) frame {
	return func(t *remoteTest) []byte { return t.value(t.nonce(n), noTime, []byte("payload")) }
}

// refreshing returns a value with a refresh claim that ends after d.
func refreshing(n int, d time.Duration) frame {
	return func(t *remoteTest) []byte { return t.value(t.nonce(n), time.Now().Add(d), []byte("refreshed")) }
}

func hold(n int) frame { return func(t *remoteTest) []byte { return tier.HoldCell(t.nonce(n)) } }

var noTime time.Time
