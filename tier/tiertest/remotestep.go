package tiertest

import (
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"
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

// lasting gives the leases and values of some steps another lifetime.
func lasting(d time.Duration, all ...step) step {
	return func(t *remoteTest) {
		t.life = d
		for _, s := range all {
			s(t)
		}
		t.life = long
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
	return func(t *remoteTest) { t.claim(t.at, tier.Claim{Seen: t.nonce(seen), Nonce: t.nonce(n), Lease: t.life}) }
}

func refresh(seen, n int) step {
	return func(t *remoteTest) {
		t.claim(t.at, tier.Claim{Seen: t.nonce(seen), Nonce: t.nonce(n), Lease: t.life, Refresh: true})
	}
}

func fill(n int, cell frame) step {
	return func(t *remoteTest) { t.fill(t.at, tier.Fill{Nonce: t.nonce(n), Cell: cell(t), TTL: t.life}) }
}

func release(n int) step {
	return func(t *remoteTest) { t.fill(t.at, tier.Fill{Nonce: t.nonce(n)}) }
}

func remove() step { return func(t *remoteTest) { t.remove(t.at) } }

// store puts a frame under the key with a claim and a fill.
func store(cell frame) step { return func(t *remoteTest) { t.store(t.at, cell(t), t.life) } }

// gone waits until the key is empty. That must not be before d has passed since the last call began, minus the
// resolution of a clock.
func gone(d time.Duration) step {
	return func(t *remoteTest) {
		t.waitGone(t.at)
		if took := time.Since(t.begun); took < d-tick {
			t.Errorf("gone after %v, want not before %v", took, d)
		}
	}
}

// pass waits until a lease of d on another key has expired.
func pass(d time.Duration) step {
	return func(t *remoteTest) {
		on("marker")(t)
		lasting(d, claim(1))(t)
		gone(d)(t)
	}
}

// briefly has a lease and a value on a key that last for d, which is next to nothing.
func briefly(key string, d time.Duration) step {
	return func(t *remoteTest) {
		on(key)(t)
		lasting(d, claim(1), gone(0))(t)
		claim(1)(t)
		lasting(d, fill(1, value(1)), gone(0))(t)
	}
}

// granted repeats a claim until what refuses it has expired.
func granted(seen, n int, refresh bool) step {
	return func(t *remoteTest) {
		c := tier.Claim{Seen: t.nonce(seen), Nonce: t.nonce(n), Lease: long, Refresh: refresh}
		t.eventually("an expired lease still refuses", func() bool {
			got, err := tiercall.Claim(t.Context(), t.r, t.at, c)
			return err == nil && got.Granted
		})
		if !refresh {
			delete(t.cells, t.at)
		}
		ch, _, _ := c.Over(t.cells[t.at].frame, time.Now().Add(long))
		t.changed(t.at, ch, refresh)
	}
}

// frame makes the bytes of a cell.
type frame func(t *remoteTest) []byte

func value(n int) frame {
	return func(t *remoteTest) []byte { return t.value(t.nonce(n), noTime, []byte("payload")) }
}

// refreshing returns a value with a refresh claim that ends after d.
func refreshing(n int, d time.Duration) frame {
	return func(t *remoteTest) []byte { return t.value(t.nonce(n), time.Now().Add(d), []byte("refreshed")) }
}

var noTime time.Time
