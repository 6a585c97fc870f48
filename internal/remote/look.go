package remote

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/tier"
)

// A look saves the claim's round trip where there is no cell. Where there is one, it is a larger
// command than a Get. Therefore the first read is a look, and after a read that found nothing the
// next lookAfter reads are.
const lookAfter = 8

func firstLook() *atomic.Int32 {
	n := new(atomic.Int32)
	n.Store(1)
	return n
}

// Looks reports whether the next read should be a Look.
func (t *Tier) Looks() bool { return t.canLook && t.looks.Load() > 0 }

// learn notes whether a read found a cell. Concurrent reads may count as one.
func (t *Tier) learn(found bool) {
	if !found {
		t.looks.Store(lookAfter)
	} else if n := t.looks.Load(); n > 0 {
		t.looks.Store(n - 1)
	}
}

// Look reads a cell like Get, by a claim with Look, which may be granted if there is none. It gives the claim
// back when the answer was lost.
func (t *Tier) Look(ctx context.Context, d *calls.Deadline, timeout time.Duration, key string, claim tier.Claim) (tier.Claimed, error) {
	got, err := t.look(ctx, d, timeout, key, claim)
	if err != nil && !errors.Is(err, ErrOpen) {
		t.giveBack(ctx, timeout, []string{key}, []tier.Claim{claim}, func(int) bool { return true })
	}
	return got, err
}

func (t *Tier) look(ctx context.Context, d *calls.Deadline, timeout time.Duration, key string, claim tier.Claim) (got tier.Claimed, err error) {
	c, err := t.begin(ctx, d, Get, timeout)
	if err != nil {
		return got, err
	}
	defer c.end(&err)
	err = errExited
	o := ones.Get().(*one)
	o.key[0], o.claim[0] = key, claim
	o.claim[0].Look = true
	if err = t.Tier.Claim(c.ctx, o.key[:], o.claim[:], o.got[:]); err == nil {
		got = o.got[0]
		t.learn(got.Cell != nil)
		o.free()
	}
	return got, err
}
