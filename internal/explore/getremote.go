package explore

// callerFlight is the part of a Get that may leave the work to another Get of the process.
func (t *steps) callerFlight(i int) {
	u := t.turn(i)
	g := u.g
	switch g.stage {
	case getJoin:
		if u.joins() {
			u.then(getWait, "joins the flight")
			return
		}
		g.flightMark, g.flightBegan = u.mark(u.r).born, u.s.now()
		next := getMark
		if !g.ok && !u.is(RemoteNoLease) {
			next = u.firstOfLoad()
		}
		u.then(next, "leads a flight")
	case getLanded:
		if u.is(NoRejudge) {
			u.finish("takes what the flight brought")
			return
		}
		g.lease = u.r.lease
		u.then(getClock, "the flight has ended; reads the lease")
	default: // getWait: the leader wakes it
	}
}

// joins reports whether this process has a flight to join: one that no fence of the key has
// overtaken, and under a lease or younger than B. The tags of a value are unknown before its load,
// so a scope does not matter here.
func (u *turn) joins() bool {
	l := u.partner
	if !flying(l.stage) {
		return false
	}
	if u.is(JoinFenced) {
		return true
	}
	fenced := u.Mode == Key && u.r.fence >= stored && l.flightMark == 0
	return !fenced && (u.g.ok || l.flightBegan != lapsed)
}

// flying reports whether a Get leads a flight while it is in stage s.
func flying(s getStage) bool { return s >= getMark }

func (u *turn) flying() bool { return u.Shape != Apart && flying(u.from.gets[u.i].stage) }

// callerRemote is the part of a Get that uses the remote tier.
func (t *steps) callerRemote(i int) {
	u := t.turn(i)
	g := u.g
	switch g.stage {
	case getMark:
		g.e = u.mark(u.r)
		u.then(getFetch, "writes down its mark")
	case getFetch:
		g.reply = u.s.cell
		u.then(getJudge, fetched(g.reply))
		lost := t.turn(i)
		lost.g.e = entry{}
		lost.without("GET is lost on the wire")
	case getJudge:
		u.judge()
	case getRemark:
		g.e.born = u.mark(u.r).born
		u.then(getKeep, "writes down its mark, late")
	case getClaim:
		t.claim(i)
	default: // other functions handle the other stages
	}
}

func fetched(c cell) string {
	return [...]string{"GET: nothing", "GET: somebody's claim", "GET: a frame"}[c.kind]
}

// judge accepts a frame that is not older than a fence known here.
func (u *turn) judge() {
	g := u.g
	if u.locked() {
		return
	}
	f := g.reply
	old := u.refuses(u.r, f.pos)
	if f.kind == filled && old && u.expires(u.r) {
		u.keepExpired()
	}
	if f.kind != filled || old && !u.overlooks() {
		g.e, g.reply = entry{}, cell{nonce: f.nonce}
		u.then(getClaim, "judges what it got: not to be served")
		return
	}
	g.reply = cell{}
	g.e.version, g.e.asOf, g.e.stale = f.version, f.pos, f.stale
	if u.is(MarkAfterGet) {
		u.then(getRemark, "judges the frame: good")
		return
	}
	u.then(getKeep, "judges the frame: good")
}

// keepExpired is judge for an expired frame, which is served as stale.
func (u *turn) keepExpired() {
	v := u.turn(u.i)
	f := v.g.reply
	v.g.reply = cell{}
	v.g.e.version, v.g.e.asOf, v.g.e.stale = f.version, f.pos, true
	v.then(getKeep, "judges the frame: it has expired")
}

// overlooks reports whether a process that knows of a hole in the sequence still accepts older
// frames. It may if the hole is among the keys, because their cells are removed.
func (u *turn) overlooks() bool { return u.is(SoftInKeys) && u.r.gap }

// claim asks for the right to load. The claim is granted on an empty cell and over what the Get
// saw: a frame that it refused, or a claim that it waited for too long. A Get without a claim looks
// again: its claim was refused, or it waits for another Get's claim.
func (t *steps) claim(i int) {
	again := t.turn(i)
	again.g.reply = cell{}
	again.then(getMark, "looks again")
	c := t.from.cell
	if c.kind != absent && c.nonce != t.from.gets[i].reply.nonce {
		return
	}
	n := t.from.newNonce()
	granted, lost := t.turn(i), t.turn(i)
	for _, u := range []*turn{granted, lost} {
		u.s.cell = cell{kind: claimed, nonce: n}
		u.g.reply = cell{}
	}
	granted.g.claim = n
	granted.then(granted.firstOfLoad(), [...]string{"claims the cell", "steals the claim", "claims the cell, over the frame"}[c.kind])
	lost.then(lost.firstOfLoad(), "claims the cell; the answer is lost on the wire")
}
