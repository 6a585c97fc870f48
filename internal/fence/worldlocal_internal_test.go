package fence

import (
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// local is a stand-in for the local tier.
type local struct {
	f  *Fences
	mu sync.Mutex
	m  map[string]*thing
}

// thing is an entry.
type thing struct {
	Subject
	In    *Namespace
	value int64
	mark  uint64
	seen  atomic.Uint64
	nodes []*Node
	ended atomic.Bool // by an Expire
	dead  atomic.Bool
}

func (l *local) get(text string) *thing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.m[text]
}

func (l *local) set(t *thing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.m[t.Key]; old != nil {
		l.gone(old)
	}
	l.m[t.Key] = t
}

func (l *local) remove(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.m[text]; old != nil {
		delete(l.m, text)
		l.gone(old)
	}
}

func (l *local) gone(t *thing) {
	l.f.Drop(t.nodes)
}

// owner finds things of a namespace.
type owner struct {
	of     *local
	stem   string
	spells bool
}

func (o *owner) Spells() bool { return o.spells }

func (o *owner) EndKey(id string, fresh int64) {
	if t := o.of.get(o.stem + id); t != nil {
		if fresh != Forever {
			t.ended.Store(true)
			return
		}
		t.dead.Store(true)
		o.of.remove(t.Key)
	}
}

const (
	isFresh = iota
	isStale
	isDead
)

// state says how a thing of the local tier may be served.
func (p *process) state(t *thing) int {
	if t.dead.Load() {
		return isDead
	}
	seen := t.seen.Load()
	quiet := t.In.Quiet(t.mark, seen)
	for _, n := range t.nodes {
		quiet = quiet && !n.Since(t.mark, seen)
	}
	if !quiet {
		now, fresh, ok := p.Check(t.In, t.nodes, t.mark, seen, func() string { return t.Key })
		if !ok {
			t.dead.Store(true)
			return isDead
		}
		if fresh != Forever {
			t.ended.Store(true)
		}
		raise(&t.seen, now)
	}
	if t.ended.Load() {
		return isStale
	}
	return isFresh
}

// put stores a loaded value, unless it was overtaken. It returns a thing in any case.
func (p *process) put(i int, value int64, m Mark, on *Deps, store, expired bool) (*thing, bool) {
	t := &thing{In: p.in(i), Subject: Subject{xxhash.Sum64String(p.text[i]), p.text[i], on}, value: value, mark: m.Tick}
	t.ended.Store(expired)
	bad := p.oracle.over(&t.Subject, func(r *applied) bool { return !r.soft && r.tick > m.Tick })
	late := p.oracle.over(&t.Subject, func(r *applied) bool { return r.soft && r.tick > m.Tick })
	if !store {
		return t, false
	}
	now := p.Tick()
	nodes, fresh, ok := p.Hold(m, t.In, &t.Subject)
	t.nodes = nodes
	t.seen.Store(now)
	if fresh != Forever {
		t.ended.Store(true)
	}
	ok = ok && p.Enter(m, t.Hash, func(fresh int64) {
		if fresh != Forever {
			t.ended.Store(true)
		}
		if bad || late && !t.ended.Load() {
			p.loads.Add(1)
		}
		p.local.set(t)
	})
	if !ok {
		p.local.gone(t)
	}
	return t, ok
}
