package localtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// Play is a tier that one goroutine uses, and what it must hold and have reported.
type Play struct {
	Tier     tier.Local
	MaxBytes int64         // of the tier
	Largest  int64         // cost of an entry that it takes
	Late     time.Duration // how long it may take for what it does in the background
	Full     bool          // it may evict or reject

	t    *testing.T
	led  *Ledger
	held map[uint64]placed
	left []departed
}

type placed struct {
	e    *Entry
	cost int64
}

// departed is an entry that must be reported once, with one of the reasons.
type departed struct {
	placed

	reasons []tier.EvictReason
}

// Run makes calls, each of which is checked, and then checks the whole tier.
func (p Play) Run(t *testing.T, calls func(p *Play)) {
	t.Helper()
	p.t, p.led, p.held = t, Listen(p.Tier), map[uint64]placed{}
	p.Settle()
	calls(&p)
	p.Settle()
}

// Set sets a new entry.
func (p *Play) Set(hash uint64, cost int64) {
	p.t.Helper()
	e := &Entry{Hash: hash, Seq: len(p.held)}
	fits := cost <= p.Largest
	if got := p.Tier.Set(hash, e, cost); got != fits && !p.Full {
		p.t.Fatalf("Set(%#x, cost %d) = %v, want %v", hash, cost, got, fits)
	}
	if fits {
		p.leave(hash, tier.Replaced)
		p.held[hash] = placed{e, cost}
	} else {
		p.leave(hash, tier.Replaced, tier.Deleted)
		p.left = append(p.left, departed{placed{e, cost}, []tier.EvictReason{tier.Rejected}})
	}
	p.get(hash)
}

// Delete deletes the entry under hash, if any.
func (p *Play) Delete(hash uint64) {
	p.t.Helper()
	p.Tier.Delete(hash)
	p.leave(hash, tier.Deleted)
	p.get(hash)
}

// leave notes that the entry under hash, if any, has left.
func (p *Play) leave(hash uint64, reasons ...tier.EvictReason) {
	if old, ok := p.held[hash]; ok {
		p.left = append(p.left, departed{old, reasons})
	}
	delete(p.held, hash)
}

func (p *Play) get(hash uint64) {
	p.t.Helper()
	got, ok := p.Tier.Get(hash)
	if want, there := p.held[hash]; ok != there && (ok || !p.Full) || ok && got != any(want.e) {
		p.t.Fatalf("Get(%#x) = %v, %v; want %+v, %v", hash, got, ok, want.e, there)
	}
}

// few is how many entries no tier may evict.
const few = 10

// Settle waits for what the tier does in the background, and compares its accounts.
func (p *Play) Settle() {
	p.t.Helper()
	Eventually(p.t, p.Late, p.settled)
}

func (p *Play) settled() (what string, ok bool) {
	var bytes int64
	resident := map[any]bool{}
	left := p.left
	for hash, h := range p.held {
		got, there := p.Tier.Get(hash)
		switch {
		case there && got == any(h.e):
			resident[h.e], bytes = true, bytes+h.cost
			if len(p.led.Of(h.e)) > 0 {
				return fmt.Sprintf("entry %v is there, and was reported as %v", *h.e, p.led.Of(h.e)), false
			}
		case there || len(p.held) <= few:
			return fmt.Sprintf("Get(%#x) = %v, %v; want %v", hash, got, there, *h.e), false
		default:
			left = append(left, departed{h, []tier.EvictReason{tier.Evicted, tier.Rejected}})
		}
	}
	for _, d := range left {
		if got := p.led.Of(d.e); len(got) != 1 || got[0].Cost != d.cost || !slices.Contains(d.reasons, got[0].Reason) {
			return fmt.Sprintf("entry %v was reported as %v, want once, with cost %d and one of %v", *d.e, got, d.cost, d.reasons), false
		}
	}
	s := p.Tier.Stats()
	if s.Bytes != bytes || s.Entries != int64(len(resident)) || s.Bytes > s.MaxBytes || s.MaxBytes != p.MaxBytes {
		return fmt.Sprintf("Stats() = %+v; want %d bytes in %d entries, of a budget of %d", s, bytes, len(resident), p.MaxBytes), false
	}
	if s.Used < s.Bytes || (s.Used == 0) != (s.Entries == 0) {
		return fmt.Sprintf("Stats() = %+v; want Used to be at least Bytes, and 0 only without entries", s), false
	}
	return p.shown(resident)
}

// shown compares what Range shows with what Get finds. Range must stop when it is told to.
func (p *Play) shown(resident map[any]bool) (what string, ok bool) {
	all, calls := map[any]bool{}, 0
	p.Tier.Range(func(e any) bool { all[e] = true; return true })
	p.Tier.Range(func(any) bool { calls++; return calls < 3 })
	return fmt.Sprintf("Range shows %d entries, want %d; and %d before f stops it", len(all), len(resident), calls),
		maps.Equal(all, resident) && calls == min(3, len(all))
}
