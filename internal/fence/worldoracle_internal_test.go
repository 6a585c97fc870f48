package fence

import (
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
)

type applied struct {
	tick uint64
	at   int64
	pos  invalidate.Position
	soft bool
}

// oracle remembers the latest record of each scope.
type oracle struct {
	mu   sync.Mutex
	last map[invalidate.Fence]*applied
}

func (o *oracle) note(r invalidate.Fence, tick uint64, at int64, pos invalidate.Position) { // after Store; tick and time are from before it
	o.mu.Lock()
	defer o.mu.Unlock()
	a := o.last[r]
	if a == nil {
		a = &applied{soft: r.Soft}
		o.last[r] = a
	}
	a.tick, a.at, a.pos = max(a.tick, tick), max(a.at, at), max(a.pos, pos)
}

// over reports whether a record that is new, by the function, covers a subject.
func (o *oracle) over(s *Subject, isNew func(*applied) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r, a := range o.last {
		if isNew(a) && covers(r.Scope, s) {
			return true
		}
	}
	return false
}

func covers(r invalidate.Scope, s *Subject) bool {
	var on Deps
	if s.On != nil {
		on = *s.On
	}
	text := r.Text()
	switch r.Kind() {
	case invalidate.KindKey:
		return text == s.Key || slices.Contains(on.Keys, r.Hash())
	case invalidate.KindTag:
		return slices.Contains(on.Tags, r.Hash())
	case invalidate.KindPrefix:
		return strings.HasPrefix(s.Key, text) || len(on.Keys) > 0 && slices.Contains(on.Prefixes, xxhash.Sum64String(text[:strings.LastIndexByte(text, ':')+1]))
	case invalidate.KindAll:
	}
	return true
}

func (p *process) accept(in *Namespace, s *Subject, f *frame) (fresh int64, ok bool) {
	bad := p.oracle.overFrame(s, f.mark, false)
	late := p.oracle.overFrame(s, f.mark, true)
	fresh, ok = p.Accepts(f.mark, in, s)
	if ok && (bad || late && fresh == Forever) {
		p.frames.Add(1)
	}
	return fresh, ok
}

func (o *oracle) overFrame(s *Subject, m Mark, isSoft bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r, a := range o.last {
		than := m.Scope
		if r.Scope.Kind() == invalidate.KindKey && !r.Soft {
			than = m.Key
		}
		if a.soft == isSoft && a.pos > than && covers(r.Scope, s) && (isSoft || r.Scope.Text() != s.Key) { // its cell was removed
			return true
		}
	}
	return false
}
