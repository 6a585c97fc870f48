package tiertest

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// batchCase is a set of keys in known states, with a claim and a fill for each. Two cases of
// different sets expect the same answers.
type batchCase struct {
	keys   []string
	claims []tier.Claim
	fills  []tier.Fill
}

// remoteBatches runs the same steps key by key and in batches. It expects the same answers in the
// same order.
func remoteBatches(t *remoteTest) {
	suitetest.Need[tier.Batcher](t, t.r)
	var nonces [8]tier.Nonce
	for i := range nonces {
		nonces[i] = tier.NewNonce()
	}
	old := tier.NewNonce()
	single := newBatchCase(t, "single ", nonces, old).run(t, oneByOne{t.r})
	batch := newBatchCase(t, "batch ", nonces, old).run(t, t.r)
	for i := range single {
		if single[i] != batch[i] {
			t.Errorf("in a batch %s, one by one %s", batch[i], single[i])
		}
	}
}

func newBatchCase(t *remoteTest, set string, nonces [8]tier.Nonce, old tier.Nonce) *batchCase {
	names := [...]string{"empty", "value", "lease", "hold", "gone", "refresh", "value", "release"}
	c := &batchCase{}
	for i, name := range names {
		n := nonces[i]
		c.keys = append(c.keys, t.key(set+name))
		c.claims = append(c.claims, tier.Claim{Nonce: n, Lease: long})
		c.fills = append(c.fills, tier.Fill{Nonce: n, Cell: t.value(n, noTime, []byte(name)), TTL: long})
	}
	t.store(c.keys[1], t.value(old, noTime, []byte("v")), long)
	t.wantClaimed(c.keys[2], tier.Claim{Nonce: old, Lease: long}, granted)
	t.store(c.keys[3], tier.HoldCell(old), long)
	c.claims[4].Seen = old
	t.store(c.keys[5], t.value(old, noTime, []byte("r")), long)
	c.claims[5].Seen, c.claims[5].Refresh = old, true
	c.claims[6].Seen = old // the second claim of one key, granted when the first is refused
	c.fills[7].Cell = nil
	return c
}

// run returns one line for each answer.
func (c *batchCase) run(t *remoteTest, r tier.Remote) (lines []string) {
	t.Helper()
	before, err := tier.GetMany(t.ctx(), r, c.keys)
	lines = append(lines, describeAll("GetMany", before, err, len(c.keys))...)
	claimed, err := tier.ClaimMany(t.ctx(), r, c.keys, c.claims)
	lines = append(lines, describeAll("ClaimMany", claimed, err, len(c.keys))...)
	filled, err := tier.FillMany(t.ctx(), r, c.keys, c.fills)
	lines = append(lines, describeAll("FillMany", filled, err, len(c.keys))...)
	after, err := tier.GetMany(t.ctx(), r, c.keys)
	return append(lines, describeAll("GetMany", after, err, len(c.keys))...)
}

// describeAll always returns n+1 lines, so answers can be compared by index.
func describeAll[T any](op string, answers []T, err error, n int) []string {
	lines := []string{fmt.Sprintf("%s answers %d times and %v", op, len(answers), err)}
	for i := range n {
		var a any = "nothing"
		if i < len(answers) {
			a = answers[i]
		}
		lines = append(lines, fmt.Sprintf("%s answers %q for key %d", op, a, i))
	}
	return lines
}
