// Package localtest tests local tiers. The parts that the contract of [tier.Local] demands are for
// tier/tiertest. [Test] is for the tiers of this project, which promise more.
package localtest

import (
	"fmt"
	"math"
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

// Mute opens l. Its entries never end, and no one hears what leaves it.
func Mute(l tier.Local) {
	l.Open(tier.Hooks{Now: stopped, ExpiresAt: never, Removed: func(any, int64, tier.EvictReason) {}})
}

func stopped() int64 { return 0 }

func never(any) int64 { return math.MaxInt64 }

// Listen opens l with a ledger. Its entries never end.
func Listen(l tier.Local) *Ledger {
	return ListenTo(l, stopped, never)
}

// ListenTo opens l with a ledger, a clock, and the ends of its entries.
func ListenTo(l tier.Local, now func() int64, expiresAt func(e any) int64) *Ledger {
	led := &Ledger{left: map[*Entry][]Departure{}}
	l.Open(tier.Hooks{Now: now, ExpiresAt: expiresAt, Removed: func(e any, cost int64, reason tier.EvictReason) {
		led.record(entryOf(e), Departure{reason, cost})
		if led.Heard != nil {
			led.Heard()
		}
	}})
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

// Closed checks a tier that is closed and no longer in use: it has reported each of the entries exactly once.
func (led *Ledger) Closed(t *testing.T, entries []*Entry) {
	t.Helper()
	for _, e := range entries {
		if how := led.Of(e); len(how) != 1 {
			t.Fatalf("entry %v of a closed tier was reported as %v, want exactly once", *e, how)
		}
	}
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
