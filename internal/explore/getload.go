package explore

// firstOfLoad returns the stage in which a load begins.
func (m *Model) firstOfLoad() getStage {
	if m.is(MarkAfterLoad) {
		return getLoad
	}
	return getLoadMark
}

// callerLoad is the part of a Get that loads: with a claim of the cell, or without one if the
// remote tier is unusable.
func (t *steps) callerLoad() {
	u := t.turn()
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
		t.renew()
	case getCheck:
		u.check()
		t.renew()
	case getFill:
		u.fill()
		u = t.turn()
		u.g.late = cell{kind: filled, nonce: u.g.claim, version: u.g.e.version, pos: u.g.e.asOf}
		u.g.claim = 0
		u.then(getKeep, "gives up waiting for the fill: lost, or late")
	case getKeep:
		u.keep()
	default: // other functions handle the other stages
	}
}

// loadMark notes the mark and the time.
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

// check looks for a fence since the mark. The load is repeated once. If it is overtaken again, its
// value is returned and not kept. The claim is given back: it expires.
func (u *turn) check() {
	g := u.g
	if u.locked() && g.e.born == 0 {
		return
	}
	overtaken := u.covers(u.r, g.e) && !u.is(NoOvertakenCheck)
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

// arrival is a fill that its Get gave up and that arrives late. A fill that never arrives is the
// same as one that arrives too late.
func (t *steps) arrival() {
	f := t.from.get.late
	if f.kind == absent || (f.nonce != t.from.cell.nonce && !t.is(NoCAS)) {
		return
	}
	s := *t.from
	s.cell, s.get.late = f, cell{}
	t.add("redis", "a late fill arrives: stored", &s)
}

// fill stores the value if the claim still stands. If not, there may have been an invalidation, so
// this process does not keep the value either.
func (u *turn) fill() {
	g := u.g
	n := g.claim
	g.claim = 0
	switch {
	case u.s.cell.kind != absent && u.s.cell.nonce == n:
		u.s.cell = cell{kind: filled, nonce: n, version: g.e.version, pos: g.e.asOf}
		u.then(getKeep, "fill: stored")
	case u.is(NoCAS):
		u.s.cell = cell{kind: filled, nonce: u.s.newNonce(), version: g.e.version, pos: g.e.asOf}
		u.then(getKeep, "fill: stored over anything")
	case u.is(KeepLost):
		u.then(getKeep, "fill: refused")
	default:
		u.finish("fill: refused")
	}
}

// keep puts the value into the local tier and returns it. An entry needs no position: it is checked
// only by its tick.
func (u *turn) keep() {
	e := u.g.e
	e.asOf = 0
	if !u.is(CheckAtInsert) || !u.covers(u.r, e) {
		u.r.local = e
	}
	u.finish("keeps the value")
}

// renew implements mutant RenewRevives. A renewal that finds its claim changes nothing in this
// model, because claims lapse at any time.
func (t *steps) renew() {
	g := t.from.get
	if !t.is(RenewRevives) || g.claim == 0 || t.from.cell.kind != absent {
		return
	}
	u := t.turn()
	u.s.cell = cell{kind: claimed, nonce: g.claim}
	u.done("renews its claim, which was gone: there it is again")
}
