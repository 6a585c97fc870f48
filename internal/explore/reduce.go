package explore

// reduce takes s to a state that can do just as much harm, and to which many
// others are taken as well. Whatever it drops is what a cache may drop at any
// time, or what nobody will look at, so no step is invented; and whatever could
// violate the guarantee with it could do so without.
func (m *Model) reduce(s *state) {
	if !m.Full {
		m.dropNew(s)
		m.dropIdle(s)
	}
	s.canonical()
}

// dropNew drops the new version wherever it is, and ends the Gets that can
// return nothing else. Only the old version can do harm: a tier that holds the
// new one spares a Get its way to the source, which is harmless too, and a Get
// that is spared is one that need not have been made.
func (m *Model) dropNew(s *state) {
	for i := range s.gets {
		if g := &s.gets[i]; g.e.version == newVersion || (s.version == newVersion && !m.Nested && (g.loads() || m.spent(g))) {
			m.end(s, i)
		}
	}
	for i := range s.procs {
		if r := &s.procs[i]; r.local.version == newVersion {
			r.local = entry{}
		}
	}
	for i := range s.gets {
		if f := &s.gets[i].late; f.version == newVersion || (f.nonce != s.cell.nonce && !m.is(NoCAS)) {
			*f = cell{}
		}
	}
	if s.cell.version == newVersion || s.cell.kind == claimed && !s.held(s.cell.nonce) {
		s.cell = cell{}
	}
}

// loads reports whether the Get is about to read the source.
func (g *get) loads() bool {
	return g.e.version == 0 && (g.stage == getLoadMark || g.stage == getLoad)
}

// spent reports whether a Get is neither of interest nor of consequence, the
// source having changed: its caller's last, too early to be obliged, and without
// an old value that it may yet fill.
func (m *Model) spent(g *get) bool {
	return m.Shape == Apart && g.left == 0 && !g.fresh && g.stage != getIdle && (g.e.version == 0 || g.claim == 0)
}

// private returns the caller whose next step is nobody else's business, and
// nobody else's step is any of its. Such a step may as well come at once, so
// nothing else needs to be tried first.
func (m *Model) private(s *state) (caller int, ok bool) {
	for i := range s.gets {
		switch s.gets[i].stage {
		case getFences, getMark, getJudge, getRemark, getPartFences:
			if m.settled(&s.procs[m.home(i)]) {
				return i, true
			}
		case getKeep:
			if m.Shape == Apart && !m.is(JudgeAtInsert|DeleteOnly) {
				return i, true
			}
		default:
		}
	}
	return 0, false
}

// end ends a Get. Who waits for it might as well not have joined.
func (m *Model) end(s *state, i int) {
	g, partner := &s.gets[i], &s.gets[1-i]
	g.end()
	if partner.stage == getWait {
		partner.stage = getJoin
	}
}

// held reports whether a Get holds a claim of the nonce. A claim that nobody
// holds is in everybody's way and nothing else; it expires.
func (s *state) held(nonce uint8) bool {
	a, b := &s.gets[0], &s.gets[1]
	return a.claim == nonce || b.claim == nonce || a.late.nonce == nonce || b.late.nonce == nonce
}

// dropIdle drops what nobody will look at any more: the entry of a process whose
// last Get has begun; the rest of it when that has ended; and rounds of the
// syncer that can at best stamp the lease as it is stamped already.
func (m *Model) dropIdle(s *state) {
	for i := range s.procs {
		r := &s.procs[i]
		if !m.alive(s, i) {
			*r = process{sync: r.sync, cursor: r.cursor}
			if !r.sync.carries && !m.numbers(s, r) {
				r.sync = syncer{}
			}
		}
		if m.futile(s, r) {
			r.sync = syncer{}
		}
		if !m.awaited(s, i) {
			r.local = entry{}
		}
	}
}

// futile reports whether a round of the syncer can at best stamp the lease as it
// is stamped already, and cannot start an epoch.
func (m *Model) futile(s *state, r *process) bool {
	if r.sync.carries || m.numbers(s, r) || m.is(StampAtReply) || m.replaced(s) {
		return false
	}
	return r.sync.asked <= r.lease
}

// numbers reports whether a round has rows to number, or may find some.
func (m *Model) numbers(s *state, r *process) bool {
	return r.sync.stage >= syncStaged || r.sync.stage == syncSent && s.box.pending()
}

// settled reports whether the process has nothing to apply any more, whatever
// comes.
func (m *Model) settled(r *process) bool {
	return r.fence == applied && (m.Loss == LosesNothing || m.Loss == LosesAll || r.at >= bump)
}

// alive reports whether a process has Gets under way or to come.
func (m *Model) alive(s *state, proc int) bool {
	if m.Full {
		return true
	}
	for i := range s.gets {
		if m.home(i) == proc && (s.gets[i].left > 0 || s.gets[i].stage != getIdle) {
			return true
		}
	}
	return false
}

// awaited reports whether a process has Gets to come, or under way that may
// still read the entry as a part.
func (m *Model) awaited(s *state, proc int) bool {
	if m.Nested {
		return m.alive(s, proc)
	}
	return m.home(0) == proc && s.gets[0].left > 0 || m.home(1) == proc && s.gets[1].left > 0
}
