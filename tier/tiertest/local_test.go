package tiertest_test

import (
	"container/list"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// lru is the simplest tier that keeps the contract. The suite runs on it, and on its mutants in
// mutants_test.go.
type lru struct {
	mu     sync.Mutex
	closed bool
	bytes  int64
	items  map[uint64]*list.Element
	order  *list.List // the newest is at the front
	notify func(any, int64, tier.EvictReason)
	now    func() int64
	end    func(any) int64
	sweeps *time.Timer
	mutant string
}

type lruItem struct {
	hash  uint64
	e     any
	cost  int64
	end   int64    // when it was set
	older *lruItem // what it replaced, for a mutant
	hit   *int     // for another mutant
}

func newLRU() *lru {
	return &lru{items: map[uint64]*list.Element{}, order: list.New(), notify: func(any, int64, tier.EvictReason) {}}
}

func (l *lru) Validate() error { return nil }

// Open looks at every entry every 20 seconds.
func (l *lru) Open(h tier.Hooks) {
	l.now, l.end, l.notify = h.Now, h.ExpiresAt, h.Removed
	var sweep func()
	sweep = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.expireLocked(); !l.closed && l.mutant != "sweeps once" {
			l.sweeps = time.AfterFunc(20*time.Second, sweep)
		}
	}
	l.sweeps = time.AfterFunc(20*time.Second, sweep)
}

func (l *lru) expireLocked() {
	for _, el := range l.items {
		it := el.Value.(*lruItem)
		switch end := l.end(it.e); {
		case l.mutant == "does not ask again":
			if it.end <= l.now() {
				l.drop(el, tier.Expired)
			}
		case l.mutant == "asks at the first end only" && it.end > l.now(), l.mutant == "keeps ended entries":
		case l.mutant == "removes early" && end-int64(5*time.Second) <= l.now():
			l.drop(el, tier.Expired)
		case end <= l.now():
			if l.mutant == "calls it deleted" {
				l.drop(el, tier.Deleted)
			} else {
				l.drop(el, tier.Expired)
			}
		}
	}
}

func (l *lru) Stats() tier.LocalStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := tier.LocalStats{Bytes: l.bytes, Entries: int64(len(l.items)), Used: l.bytes, MaxBytes: tiertest.LocalBudget}
	switch l.mutant {
	case "knows no budget":
		s.MaxBytes = 0
	case "does not say what it uses":
		s.Used = 0
	}
	return s
}

func (l *lru) Range(f func(any) bool) {
	l.mu.Lock()
	all := make([]any, 0, len(l.items))
	for _, el := range l.items {
		all = append(all, el.Value.(*lruItem).e)
	}
	l.mu.Unlock()
	if l.mutant == "hides an entry" && len(all) > 0 {
		all = all[1:]
	}
	for _, e := range all {
		if !f(e) && l.mutant != "goes on" {
			return
		}
	}
}

func (l *lru) Get(hash uint64) (any, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	el, ok := l.items[hash]
	if !ok {
		return nil, false
	}
	l.order.MoveToFront(el)
	it := el.Value.(*lruItem)
	if l.mutant == "allocates at the first hit" && it.hit == nil {
		it.hit = new(int)
	}
	return it.e, true
}

func (l *lru) Set(hash uint64, e any, cost int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		if l.mutant != "reports nothing when closed" {
			l.notify(e, cost, tier.Closed)
		}
		return false
	}
	if l.mutant == "keeps the old entry" && cost > tiertest.LocalBudget {
		return false
	}
	it := &lruItem{hash: hash, e: e, cost: cost, end: l.end(e)}
	if el, ok := l.items[hash]; ok {
		if l.mutant == "ignores a replacement" {
			return true
		}
		if l.mutant == "deletes only the newest" {
			it.older = el.Value.(*lruItem)
		}
		l.drop(el, tier.Replaced)
	}
	if l.mutant == "unlocks in the middle" {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
		if el, ok := l.items[hash]; ok {
			l.bytes -= l.order.Remove(el).(*lruItem).cost // it is not reported
		}
	}
	if cost > tiertest.LocalBudget {
		if l.mutant != "reports no refusal" {
			l.notify(e, cost, tier.Rejected)
		}
		if l.mutant == "reports a refusal twice" {
			l.notify(e, cost, tier.Rejected)
		}
		return false
	}
	if l.mutant == "brings back what was deleted" {
		l.moveTheOldest()
	}
	l.items[hash] = l.order.PushFront(it)
	l.bytes += cost
	if l.bytes > tiertest.LocalBudget && l.mutant != "evicts others first" {
		l.expireLocked()
	}
	for l.bytes > tiertest.LocalBudget && l.mutant != "has no budget" {
		l.drop(l.order.Back(), tier.Evicted)
	}
	return true
}

func (l *lru) Delete(hash uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el, ok := l.items[hash]; ok && l.mutant != "never deletes" {
		l.drop(el, tier.Deleted)
		if older := el.Value.(*lruItem).older; older != nil {
			l.items[hash] = l.order.PushFront(older)
			l.bytes += older.cost
		}
	}
}

// moveTheOldest has the oldest entry in no place for a moment.
func (l *lru) moveTheOldest() {
	el := l.order.Back()
	if el == nil {
		return
	}
	it := l.order.Remove(el).(*lruItem)
	l.mu.Unlock()
	runtime.Gosched()
	l.mu.Lock()
	switch was, ok := l.items[it.hash]; {
	case !ok: // a Delete has come first
		l.items[it.hash] = l.order.PushBack(it)
		l.bytes += it.cost
	case was == el:
		l.items[it.hash] = l.order.PushBack(it)
	}
}

func (l *lru) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sweeps != nil {
		l.sweeps.Stop()
	}
	all := slices.Collect(maps.Values(l.items))
	if l.mutant == "is closed too late" {
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	l.closed = true
	for _, el := range all {
		switch it := el.Value.(*lruItem); l.mutant {
		case "reports nothing at Close":
		case "is closed too late":
			l.notify(it.e, it.cost, tier.Closed)
		case "calls what it closes evicted":
			l.drop(el, tier.Evicted)
		case "keeps its entries when closed":
			l.notify(it.e, it.cost, tier.Closed)
		default:
			l.drop(el, tier.Closed)
		}
	}
	clear(l.items)
	l.bytes = 0
	return nil
}

func (l *lru) drop(el *list.Element, reason tier.EvictReason) {
	it := l.order.Remove(el).(*lruItem)
	delete(l.items, it.hash)
	l.bytes -= it.cost
	switch {
	case l.mutant == "forgets a departure" && reason == tier.Replaced:
	case l.mutant == "reports twice":
		l.notify(it.e, it.cost, reason)
		fallthrough
	default:
		l.notify(it.e, it.cost, reason)
	}
}

func TestLocalSuiteAcceptsAPlainLRU(t *testing.T) {
	tiertest.TestLocal(t, func(*testing.T) tier.Local { return newLRU() })
}
