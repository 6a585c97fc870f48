package explore

// reduce maps s to a state that can do just as much harm, together with many other states. It drops
// only what a cache may drop at any time, or what no later step looks at. So it invents no step,
// and any violation that is possible from s is possible without the dropped parts.
func (m *Model) reduce(s *state) {
	if !m.Full {
		m.dropNew(s)
		m.dropIdle(s)
	}
	s.canonical()
}

// dropNew drops the new version everywhere, and ends the Gets that can return only the new version.
// Only the old version can do harm. A tier that holds the new version spares a Get its read of the
// source, which is harmless; such a Get might as well not have been made.
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

// spent reports whether a Get no longer matters, given that the source has changed: it is its
// caller's last Get, too early to be obliged, and has no old value that it may still fill.
func (m *Model) spent(g *get) bool {
	return m.Shape == Apart && g.left == 0 && !g.fresh && g.stage != getIdle && (g.e.version == 0 || g.claim == 0)
}

// private returns a caller whose next step neither affects other steps nor is affected by them.
// Such a step may come at once, so no other step needs to be tried first.
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

// end ends a Get. A Get that waits for it goes back to the stage before it joined.
func (m *Model) end(s *state, i int) {
	g, partner := &s.gets[i], &s.gets[1-i]
	g.end()
	if partner.stage == getWait {
		partner.stage = getJoin
	}
}

// held reports whether a Get holds a claim with the nonce. A claim without a holder only blocks
// others until it expires.
func (s *state) held(nonce uint8) bool {
	a, b := &s.gets[0], &s.gets[1]
	return a.claim == nonce || b.claim == nonce || a.late.nonce == nonce || b.late.nonce == nonce
}

// dropIdle drops what no later step looks at: the entry of a process whose last Get has begun; the
// rest of the process when that Get has ended; and rounds of the syncer that cannot improve the
// lease's stamp.
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

// futile reports whether a round of the syncer can neither improve the lease's stamp nor start an
// epoch.
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

// settled reports whether the process will never have anything more to apply.
func (m *Model) settled(r *process) bool {
	return r.fence == applied && (m.Loss == LosesNothing || m.Loss == LosesAll || r.at >= bump)
}

// alive reports whether a process has Gets under way or still to start.
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

// awaited reports whether a process has Gets still to start, or Gets under way that may read the
// entry as a part.
func (m *Model) awaited(s *state, proc int) bool {
	if m.Nested {
		return m.alive(s, proc)
	}
	return m.home(0) == proc && s.gets[0].left > 0 || m.home(1) == proc && s.gets[1].left > 0
}
