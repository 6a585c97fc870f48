package tiertest_test

import (
	"container/list"
	"runtime"
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

func (l *lru) OnEvict(f func(any, int64, tier.EvictReason)) { l.notify = f }

// ExpireBy looks at every entry every 20 seconds.
func (l *lru) ExpireBy(now func() int64, end func(any) int64) {
	l.now, l.end = now, end
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
	if l.end == nil {
		return
	}
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

func (l *lru) Usage() (bytes, entries int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes, int64(len(l.items))
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
		return false
	}
	if l.mutant == "keeps the old entry" && cost > tiertest.LocalBudget {
		return false
	}
	it := &lruItem{hash: hash, e: e, cost: cost}
	if l.end != nil {
		it.end = l.end(e)
	}
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
		l.notify(e, cost, tier.Rejected)
		return false
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

func (l *lru) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; l.sweeps != nil {
		l.sweeps.Stop()
	}
	clear(l.items)
	if l.mutant != "keeps its entries when closed" {
		l.order.Init()
	}
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

// A tier that reports nothing, counts nothing and lists nothing keeps the contract, too.
func TestLocalSuiteAcceptsABareTier(t *testing.T) {
	tiertest.TestLocal(t, func(*testing.T) tier.Local { return struct{ tier.Local }{newLRU()} })
}
