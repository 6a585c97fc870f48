package explore

// reduce maps s to a state that can do just as much harm, together with many other states. It drops
// only what a cache may drop at any time, or what no later step looks at. Therefore it invents no step,
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
		if g := &s.gets[i]; g.e.version == newVersion || s.version == newVersion && (g.loads() || g.spent()) {
			g.end()
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
func (g *get) spent() bool {
	return g.left == 0 && !g.fresh && g.stage != getIdle && (g.e.version == 0 || g.claim == 0)
}

// private returns a caller whose next step does not affect other steps, and is not affected by them.
// Such a step may come first, so no other step needs to be tried first.
func (m *Model) private(s *state) (caller int, ok bool) {
	for i := range s.gets {
		switch s.gets[i].stage {
		case getFences, getMark, getJudge, getRemark:
			if s.procs[i].fence == applied {
				return i, true
			}
		case getKeep:
			if !m.is(JudgeAtInsert | DeleteOnly) {
				return i, true
			}
		default:
		}
	}
	return 0, false
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
			*r = process{sync: r.sync}
			if !r.sync.carries {
				r.sync = syncer{}
			}
		}
		if m.futile(r) {
			r.sync = syncer{}
		}
		if s.gets[i].left == 0 {
			r.local = entry{}
		}
	}
}

// futile reports whether a round of the syncer cannot improve the lease's stamp.
func (m *Model) futile(r *process) bool {
	return !r.sync.carries && !m.is(StampAtReply) && r.sync.asked <= r.lease
}

// alive reports whether a process has Gets under way or still to start.
func (m *Model) alive(s *state, proc int) bool {
	g := &s.gets[proc]
	return m.Full || g.left > 0 || g.stage != getIdle
}
