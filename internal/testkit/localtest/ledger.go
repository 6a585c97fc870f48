// Package localtest tests local tiers. The parts that the contract of [tier.Local] demands are for
// tier/tiertest. [Test] is for the tiers of this project, which promise more.
package localtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// Entry is the entry of one Set. Every one is distinct, so the pointer reveals a tier that mixes
// two up.
type Entry struct {
	Hash uint64
	Seq  int
}

// Departure is one report of a tier.
type Departure struct {
	Reason tier.EvictReason
	Cost   int64
}

// Ledger records the reports of a tier for each [Entry].
type Ledger struct {
	Heard func() // called after each record, unless nil

	mu   sync.Mutex
	left map[*Entry][]Departure
}

// Listen returns the ledger of l, or nil when the tier is not a [tier.EvictNotifier].
func Listen(l tier.Local) *Ledger {
	n, ok := l.(tier.EvictNotifier)
	if !ok {
		return nil
	}
	led := &Ledger{left: map[*Entry][]Departure{}}
	n.OnEvict(func(e any, cost int64, reason tier.EvictReason) {
		led.record(entryOf(e), Departure{reason, cost})
		if led.Heard != nil {
			led.Heard()
		}
	})
	return led
}

// entryOf returns e, or the Entry that e embeds.
func entryOf(e any) *Entry { return e.(interface{ self() *Entry }).self() }

func (e *Entry) self() *Entry { return e }

func (led *Ledger) record(e *Entry, d Departure) {
	led.mu.Lock()
	defer led.mu.Unlock()
	led.left[e] = append(led.left[e], d)
}

// Of returns the reports of e.
func (led *Ledger) Of(e *Entry) []Departure {
	led.mu.Lock()
	defer led.mu.Unlock()
	return slices.Clone(led.left[e])
}

// Settle checks a tier that is no longer in use: it holds or has reported each of the entries, and
// reported none of them twice. It waits for late reports. It returns the number of entries
// that l holds.
func (led *Ledger) Settle(t *testing.T, l tier.Local, late time.Duration, entries []*Entry) (held int64) {
	t.Helper()
	Eventually(t, late, func() (string, bool) {
		held = 0
		for _, e := range entries {
			got, resident := l.Get(e.Hash)
			resident = resident && got == any(e)
			how := led.Of(e)
			if len(how) > 1 {
				t.Fatalf("entry %v was reported %d times: %v", *e, len(how), how)
			}
			if resident == (len(how) == 1) {
				return fmt.Sprintf("entry %v: resident %v, reported as %v; want exactly one of the two", *e, resident, how), false
			}
			if resident {
				held++
			}
		}
		return "", true
	})
	return held
}

// Eventually repeats check until it holds, but not for longer than late. What says why it does not
// hold.
func Eventually(t *testing.T, late time.Duration, check func() (what string, ok bool)) {
	t.Helper()
	for begun := time.Now(); ; <-time.After(time.Millisecond) {
		what, ok := check()
		if ok {
			return
		}
		if time.Since(begun) >= late {
			t.Fatal(what)
		}
	}
}
