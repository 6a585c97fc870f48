package tiertest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/tier"
)

// localPlay is a tier that one goroutine uses, and what it must hold and have reported.
type localPlay struct {
	*localTest

	led  *localtest.Ledger // nil when the tier is not an EvictNotifier
	held map[uint64]placed
	left []departed
	full bool // the tier may evict or reject
}

type placed struct {
	e    *localtest.Entry
	cost int64
}

// departed is an entry that must be reported once, with one of the reasons.
type departed struct {
	placed

	reasons []tier.EvictReason
}

// plays returns a case that makes calls, each of which is checked, and then checks the whole tier.
func plays(calls func(p *localPlay)) func(t *localTest) {
	return func(t *localTest) {
		p := &localPlay{localTest: t, led: localtest.Listen(t.l), held: map[uint64]placed{}}
		p.settle()
		calls(p)
		p.settle()
	}
}

func (p *localPlay) set(hash uint64, cost int64) {
	p.Helper()
	e := &localtest.Entry{Hash: hash, Seq: len(p.held)}
	fits := cost < oversize
	if got := p.l.Set(hash, e, cost); got != fits && !p.full {
		p.Fatalf("Set(%#x, cost %d) = %v, want %v", hash, cost, got, fits)
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

func (p *localPlay) delete(hash uint64) {
	p.Helper()
	p.l.Delete(hash)
	p.leave(hash, tier.Deleted)
	p.get(hash)
}

// leave notes that the entry under hash, if any, has left.
func (p *localPlay) leave(hash uint64, reasons ...tier.EvictReason) {
	if old, ok := p.held[hash]; ok {
		p.left = append(p.left, departed{old, reasons})
	}
	delete(p.held, hash)
}

func (p *localPlay) get(hash uint64) {
	p.Helper()
	got, ok := p.l.Get(hash)
	if want, there := p.held[hash]; ok != there && (ok || !p.full) || ok && got != any(want.e) {
		p.Fatalf("Get(%#x) = %v, %v; want %+v, %v", hash, got, ok, want.e, there)
	}
}

// few is how many entries no tier may evict.
const few = 10

// settle waits for what the tier does in the background, and compares its accounts.
func (p *localPlay) settle() {
	p.Helper()
	p.eventually(p.settled)
}

func (p *localPlay) settled() (what string, ok bool) {
	var bytes int64
	resident := map[tier.Entry]bool{}
	left := p.left
	for hash, h := range p.held {
		got, there := p.l.Get(hash)
		switch {
		case there && got == any(h.e):
			resident[h.e], bytes = true, bytes+h.cost
			if p.led != nil && len(p.led.Of(h.e)) > 0 {
				return fmt.Sprintf("entry %v is there, and was reported as %v", *h.e, p.led.Of(h.e)), false
			}
		case there || len(p.held) <= few:
			return fmt.Sprintf("Get(%#x) = %v, %v; want %v", hash, got, there, *h.e), false
		default:
			left = append(left, departed{h, []tier.EvictReason{tier.Evicted, tier.Rejected}})
		}
	}
	for _, d := range left {
		if p.led == nil {
			break
		}
		if got := p.led.Of(d.e); len(got) != 1 || got[0].Cost != d.cost || !slices.Contains(d.reasons, got[0].Reason) {
			return fmt.Sprintf("entry %v was reported as %v, want once, with cost %d and one of %v", *d.e, got, d.cost, d.reasons), false
		}
	}
	if m, is := p.l.(tier.Meter); is {
		if b, n := m.Usage(); b != bytes || n != int64(len(resident)) || b > LocalBudget {
			return fmt.Sprintf("Usage() = %d, %d; want %d, %d, and at most %d bytes", b, n, bytes, len(resident), LocalBudget), false
		}
	}
	return p.shown(resident)
}

// shown compares what Range shows with what Get finds. Range must stop when it is told to.
func (p *localPlay) shown(resident map[tier.Entry]bool) (what string, ok bool) {
	r, is := p.l.(tier.Ranger)
	if !is {
		return "", true
	}
	all, calls := map[tier.Entry]bool{}, 0
	r.Range(func(e tier.Entry) bool { all[e] = true; return true })
	r.Range(func(tier.Entry) bool { calls++; return calls < 3 })
	return fmt.Sprintf("Range shows %d entries, want %d; and %d before f stops it", len(all), len(resident), calls),
		maps.Equal(all, resident) && calls == min(3, len(all))
}
