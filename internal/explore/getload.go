package explore

// firstOfLoad is where a load begins.
func (m *Model) firstOfLoad() getStage {
	if m.is(MarkAfterLoad) {
		return getLoad
	}
	return getLoadMark
}

// callerLoad is the part of a Get that loads: with a claim of the cell, or
// without when the remote tier is of no use.
func (t *steps) callerLoad(i int) {
	u := t.turn(i)
	g := u.g
	switch g.stage {
	case getLoadMark:
		u.loadMark()
	case getLoad:
		g.e.version = u.s.version
		if u.is(MarkAfterLoad) {
			g.e.loaded = u.s.now()
		}
		what := [...]string{"", "reads the source: v1", "reads the source: v2"}[u.s.version]
		if u.is(MarkAfterLoad) {
			u.then(getLoadMark, what)
		} else {
			u.then(getCheck, what)
		}
		t.part(i)
		t.renew(i)
	case getCheck:
		u.check()
		t.renew(i)
	case getFill:
		u.fill()
		u = t.turn(i)
		u.g.late = cell{kind: filled, nonce: u.g.claim, version: u.g.e.version, pos: u.g.e.asOf, stale: u.toldStale()}
		u.g.claim = 0
		u.then(getKeep, "gives up waiting for the fill: lost, or late")
	case getKeep:
		u.keep()
	default: // the other stages are others' business
	}
}

// loadMark writes down the mark and the time.
func (u *turn) loadMark() {
	g := u.g
	had := g.e
	g.e = u.mark(u.r)
	if u.is(MarkAfterLoad) {
		g.e.version, g.e.loaded = had.version, had.loaded
		u.then(getCheck, "writes down its mark, late")
		return
	}
	g.e.loaded = u.s.now()
	u.then(getLoad, "writes down its mark and the time")
}

// check looks for a fence that came since the mark. The load is repeated once;
// overtaken again, it is for those alone who asked before. The claim is given
// back, which is to say that it expires.
func (u *turn) check() {
	g := u.g
	if u.locked() && g.e.born == 0 {
		return
	}
	overtaken := u.covers(u.r, g.e) && !u.expires(u.r) && !u.is(NoOvertakenCheck)
	hadClaim := g.claim != 0
	if u.is(AgeFromEnd) {
		g.e.loaded = u.s.now()
	}
	switch {
	case overtaken && g.again:
		u.finish("overtaken once more")
	case overtaken:
		g.again, g.claim, g.e = true, 0, entry{}
		if hadClaim {
			u.then(getMark, "overtaken: begins again")
		} else {
			u.then(u.firstOfLoad(), "overtaken: loads again")
		}
	case hadClaim:
		u.then(getFill, "no fence has overtaken the load")
	default:
		u.then(getKeep, "no fence has overtaken the load")
	}
}

// toldStale is what a frame tells of the value's freshness, beside its position.
func (u *turn) toldStale() bool { return u.g.e.stale && !u.is(FreshFill) }

// arrival is a fill that was given up and comes through after all. One that
// never comes is one that comes too late.
func (t *steps) arrival(i int) {
	f := t.from.gets[i].late
	if f.kind == absent || (f.nonce != t.from.cell.nonce && !t.is(NoCAS)) {
		return
	}
	s := *t.from
	s.cell, s.gets[i].late = f, cell{}
	t.add("redis", "a late fill arrives: stored", &s)
}

// fill stores the value where the claim still stands. Where it does not, there
// was an invalidation, perhaps, and this process does not keep the value
// either.
func (u *turn) fill() {
	g := u.g
	n := g.claim
	g.claim = 0
	switch {
	case u.s.cell.kind != absent && u.s.cell.nonce == n:
		u.s.cell = cell{kind: filled, nonce: n, version: g.e.version, pos: g.e.asOf, stale: u.toldStale()}
		u.then(getKeep, "fill: stored")
	case u.is(NoCAS):
		u.s.cell = cell{kind: filled, nonce: u.s.newNonce(), version: g.e.version, pos: g.e.asOf, stale: u.toldStale()}
		u.then(getKeep, "fill: stored, whatever was there")
	case u.is(KeepLost):
		u.then(getKeep, "fill: refused")
	default:
		u.finish("fill: refused")
	}
}

// keep puts the value into the local tier and returns it. Positions are of no
// use to an entry: it is judged by its tick alone.
func (u *turn) keep() {
	e := u.g.e
	e.asOf = 0
	if u.is(FreshFrame) {
		e.stale = false
	}
	if !u.is(JudgeAtInsert) || !u.covers(u.r, e) {
		u.r.local = e
	}
	u.finish("keeps the value")
}

// renew is what mutant RenewRevives adds. A renewal that finds the claim has
// nothing to do here, where a claim lapses whenever it likes.
func (t *steps) renew(i int) {
	g := t.from.gets[i]
	if !t.is(RenewRevives) || g.claim == 0 || t.from.cell.kind != absent {
		return
	}
	u := t.turn(i)
	u.s.cell = cell{kind: claimed, nonce: g.claim}
	u.done("renews its claim, which was gone: there it is again")
}
