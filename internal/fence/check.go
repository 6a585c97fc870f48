package fence

import (
	"strings"

	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// Overtaken reports whether something that was marked m has been invalidated since: it may be older than an
// invalidation. A mark from before what is forgotten counts as overtaken, too. Fresh is the time at which the
// newest Expire that covers it was applied, or [Forever]. It asks the history, so the subject need not be in
// the local tier.
func (f *Fences) Overtaken(m Mark, in *Namespace, s *Subject) (fresh int64, overtaken bool) {
	if f.tick.Load() <= m.Tick {
		return Forever, false
	}
	v := verdict{f: f, mark: m, since: Forever, fresh: Forever}
	v.all(in, s)
	if v.forgot {
		f.given.Add(1)
	}
	return v.fresh, v.covered
}

// Recent reports whether something that covers the subject was invalidated or expired here after a time. What is
// forgotten may have been, and everything before the origin counts as invalidated at the origin.
func (f *Fences) Recent(since int64, in *Namespace, s *Subject) bool {
	v := verdict{f: f, mark: Mark{Tick: announced}, since: since, fresh: Forever}
	v.all(in, s)
	return v.covered || v.fresh != Forever
}

// verdict collects what the history says about a mark, or about a time.
type verdict struct {
	f       *Fences
	mark    Mark
	since   int64 // or Forever
	fresh   int64
	covered bool
	forgot  bool // because of what is forgotten
}

// all compares everything that can end the subject.
func (v *verdict) all(in *Namespace, s *Subject) {
	v.key(s)
	if !v.covered {
		s.each(len(in.stem), v.depends)
		v.wide(in, s.Key)
	}
}

// after reports whether a stamp is after the mark, or after the time.
func (v *verdict) after(st stamp) bool { return st.tick > v.mark.Tick || st.at > v.since }

// key compares the subject's own key.
func (v *verdict) key(s *Subject) {
	id := idOf(ofKey, s.Hash)
	at := v.f.of(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	v.see(at, id, ofKey)
}

func (v *verdict) depends(d dependency) bool {
	if d.any {
		h, s := v.f.newest(d.kind)
		v.hard(h, true)
		v.soft(s, true)
		if d.kind == ofKey {
			h, _ = v.f.newest(ofStem)
			v.hard(h, true)
		}
		return !v.covered
	}
	at := v.f.of(d.id)
	at.mu.Lock()
	defer at.mu.Unlock()
	v.see(at, d.id, d.kind)
	return !v.covered
}

// see compares a scope. The shard's lock is held.
func (v *verdict) see(s *shard, id uint64, k kind) {
	if v.since == Forever && v.f.tick.Load() <= v.mark.Tick {
		return // what is applied later needs the lock
	}
	st, known := s.hard[k].known(id)
	if !known {
		st = s.hard[k].forgot
	}
	v.hard(st, known)
	if st, known = s.soft.known(id); !known {
		st = s.soft.forgot
	}
	v.soft(st, known)
}

func (v *verdict) hard(st stamp, known bool) {
	if v.after(st) {
		v.covered, v.forgot = true, v.forgot || !known
	}
}

// soft counts an Expire of which the time is forgotten as an invalidation.
func (v *verdict) soft(st stamp, known bool) {
	switch {
	case !v.after(st):
	case !known:
		v.covered, v.forgot = true, true
	case v.fresh == Forever || st.at > v.fresh:
		v.fresh = st.at
	}
}

// wide compares the namespace, and the prefixes that end inside its ids. Ticks and times rise along that list.
func (v *verdict) wide(in *Namespace, key string) {
	if v.since == Forever && in.Quiet(v.mark.Tick, v.mark.Tick) {
		return
	}
	v.f.mu.RLock()
	defer v.f.mu.RUnlock()
	v.hard(in.past, true)
	v.hard(in.gone[hard], false)
	v.soft(in.gone[soft], false)
	list := *in.cuts.Load()
	for i := len(list) - 1; i >= 0 && v.after(list[i].stamp) && !v.covered; i-- {
		if c := &list[i]; strings.HasPrefix(key, c.text) {
			if c.soft {
				v.soft(c.stamp, true)
			} else {
				v.hard(c.stamp, true)
			}
		}
	}
}

// newest returns the latest invalidation of a kind of scopes, and the latest Expire of any kind.
func (f *Fences) newest(k kind) (h, s stamp) {
	for i := range f.shards {
		at := &f.shards[i]
		at.mu.Lock()
		h, s = h.later(at.hard[k].newest()), s.later(at.soft.newest())
		at.mu.Unlock()
	}
	return h, s
}

// Hold makes an entry that is about to be stored depend on the nodes of what can end it, and reports whether
// it may be stored: nothing that covers it was applied since its mark. The nodes hear of later invalidations.
// fresh is as for Overtaken. The caller drops the nodes in any case; see [Fences.Drop].
func (f *Fences) Hold(m Mark, in *Namespace, s *Subject) (nodes []*Node, fresh int64, ok bool) {
	v := verdict{f: f, mark: m, since: Forever, fresh: Forever}
	if n := s.On.len(); n > 0 {
		nodes = make([]*Node, 0, n)
	}
	hold := func(d dependency) bool {
		if d.any {
			all := f.manyOf(d.kind)
			all.used.Store(true) // before the history is asked
			all.node.refs.Add(1)
			nodes = append(nodes, &all.node)
			v.depends(d)
			return true
		}
		at := f.of(d.id)
		at.mu.Lock()
		defer at.mu.Unlock()
		v.see(at, d.id, d.kind)
		nodes = append(nodes, at.take(d.id))
		return true
	}
	s.each(len(in.stem), hold)
	if !in.owner.Spells() {
		hold(dependency{idOf(ofKey, s.Hash), ofKey, false})
	}
	v.wide(in, s.Key)
	if v.forgot {
		f.given.Add(1)
	}
	return nodes, v.fresh, !v.covered
}

// Drop gives back the nodes of an entry that has left, or that was not stored. It may be called with locks of
// the local tier held.
func (f *Fences) Drop(nodes []*Node) {
	for _, n := range nodes {
		if n.id == 0 {
			n.refs.Add(-1) // of many
		} else {
			f.of(n.id).drop(n)
		}
	}
}

// Enter calls store if no invalidation of the key came after the mark. No other one is applied meanwhile, so
// each finds the entry or is noted. ok is false if there was one; fresh is as for Overtaken.
func (f *Fences) Enter(m Mark, hash uint64, store func(fresh int64)) (ok bool) {
	v := verdict{f: f, mark: m, since: Forever, fresh: Forever}
	id := idOf(ofKey, hash)
	at := f.of(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	if v.see(at, id, ofKey); v.covered {
		return false
	}
	store(v.fresh)
	return true
}

// Check compares an entry that holds its nodes with what came after the ticks mark and seen: invalidations
// after mark, and Expires after seen. If ok, the entry is compared up to the tick now, which the caller notes
// as seen. fresh is as for Overtaken. key spells the entry's key; an entry that cannot tell returns "", and
// counts as covered. Check takes no lock, so hooks may call it.
func (f *Fences) Check(n *Namespace, nodes []*Node, mark, seen uint64, key func() string) (now uint64, fresh int64, ok bool) {
	now = f.tick.Load() // before the rest: what takes a tick later need not be seen
	if n.hard.Load() > mark {
		return now, Forever, false
	}
	fresh, covered, lost := n.compare(key, seen)
	if lost {
		f.given.Add(1)
	}
	for _, d := range nodes {
		if d.hard.Load() > mark {
			return now, Forever, false
		}
		if d.soft.Load() > seen {
			if at := d.at.Load(); fresh == Forever || at > fresh {
				fresh = at
			}
		}
	}
	return now, fresh, !covered
}

// Accepts reports whether a frame of the remote tier is not older than any invalidation that this process
// knows. Any process may have filled the frame, under the mark m. Positions are comparable within one epoch
// only, so a frame of another epoch than this process's own is refused. The process may not have heard of a
// new epoch yet, or the frame may have outlived its log.
//
// For a frame older than an Expire, fresh is the time at which the newest one was applied here; otherwise it
// is [Forever].
func (f *Fences) Accepts(m Mark, in *Namespace, s *Subject) (fresh int64, ok bool) {
	at := f.Cursor()
	if !f.inEpoch(m.Epoch, at) {
		return Forever, false
	}
	v := refusal{f: f, mark: m, fresh: Forever, ok: true}
	v.key(s)
	if v.wide(in, s); s.On.built() && f.from == logged && at.Key == 0 {
		v.ok = false // it is not known which keys were invalidated
	}
	if v.ok = v.ok && s.each(len(in.stem), v.depends); !v.ok {
		return Forever, false
	}
	f.noteAhead(m, at)
	return v.fresh, true
}

// refusal collects what the history says about a frame.
type refusal struct {
	f     *Fences
	mark  Mark
	fresh int64
	ok    bool
}

// key compares the frame's own key. What is forgotten does not count, because the cell of a key is removed
// before the record is written. An Expire removes no cell.
func (v *refusal) key(s *Subject) {
	id := idOf(ofKey, s.Hash)
	at := v.f.of(id)
	at.mu.Lock()
	defer at.mu.Unlock()
	if st, known := at.hard[ofKey].known(id); known && st.pos > v.mark.Key {
		v.ok = false
	}
	v.soft(&at.soft, id)
}

func (v *refusal) depends(d dependency) bool {
	than := v.mark.Scope
	if d.kind == ofKey {
		than = v.mark.Key
	}
	if d.any {
		h, s := v.f.newest(d.kind)
		if d.kind == ofKey {
			stems, _ := v.f.newest(ofStem)
			v.ok = v.ok && stems.pos <= v.mark.Scope
		}
		v.ok = v.ok && h.pos <= than && s.pos <= v.mark.Scope
		return v.ok
	}
	at := v.f.of(d.id)
	at.mu.Lock()
	defer at.mu.Unlock()
	v.ok = v.ok && at.hard[d.kind].of(d.id).pos <= than
	v.soft(&at.soft, d.id)
	return v.ok
}

// soft compares an Expire. One of which the time is forgotten counts as an invalidation.
func (v *refusal) soft(h *history, id uint64) {
	st, known := h.known(id)
	switch {
	case !known:
		v.ok = v.ok && h.forgot.pos <= v.mark.Scope
	case st.pos > v.mark.Scope && (v.fresh == Forever || st.at > v.fresh):
		v.fresh = st.at
	}
}

// wide compares everything, the namespace, and the prefixes that end inside its ids.
func (v *refusal) wide(n *Namespace, s *Subject) {
	v.f.mu.RLock()
	defer v.f.mu.RUnlock()
	m := v.mark.Scope
	v.ok = v.ok && n.past.pos <= m && n.gone[hard].pos <= m && n.gone[soft].pos <= m
	if s.On.built() && v.mark.Key < v.f.keyFloor {
		v.ok = false
	}
	list := *n.cuts.Load()
	for i := len(list) - 1; i >= 0 && list[i].high > m && v.ok; i-- {
		switch c := &list[i]; {
		case c.pos <= m || !strings.HasPrefix(s.Key, c.text):
		case !c.soft:
			v.ok = false
		case v.fresh == Forever || c.at > v.fresh:
			v.fresh = c.at
		}
	}
}

// inEpoch reports whether id is the id of the log's epoch, or 0 without a log.
func (f *Fences) inEpoch(id uint64, at invalidate.Cursor) bool {
	if f.from != logged {
		return id == 0
	}
	return (id != 0 && at.Epoch == id) || safeguard.Off(safeguard.Epochs)
}

// last returns when a scope was last invalidated, or expired, at the latest.
func (f *Fences) last(k kind, hash uint64, which int) stamp {
	id := idOf(k, hash)
	s := f.of(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if which == soft {
		return s.soft.of(id)
	}
	return s.hard[k].of(id)
}
