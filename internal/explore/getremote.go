package explore

// callerRemote is the part of a Get that uses the remote tier.
func (t *steps) callerRemote() {
	u := t.turn()
	g := u.g
	switch g.stage {
	case getMark:
		g.e = u.mark(u.r)
		u.then(getFetch, "writes down its mark")
	case getFetch:
		g.reply = u.s.cell
		u.then(getCheckFrame, fetched(g.reply))
		lost := t.turn()
		lost.g.e = entry{}
		lost.then(lost.firstOfLoad(), "GET is lost on the wire")
	case getCheckFrame:
		u.checkFrame()
	case getRemark:
		g.e.born = u.mark(u.r).born
		u.then(getKeep, "writes down its mark, late")
	case getClaim:
		t.claim()
	default: // other functions handle the other stages
	}
}

func fetched(c cell) string {
	return [...]string{"GET: nothing", "GET: somebody's claim", "GET: a frame"}[c.kind]
}

// checkFrame accepts a frame that is not older than a fence known here.
func (u *turn) checkFrame() {
	g := u.g
	if u.locked() {
		return
	}
	f := g.reply
	old := u.refuses(u.r, f.pos)
	if f.kind != filled || old {
		g.e, g.reply = entry{}, cell{nonce: f.nonce}
		u.then(getClaim, "checks the cell: not to be served")
		return
	}
	g.reply = cell{}
	g.e.version, g.e.asOf = f.version, f.pos
	if u.is(MarkAfterGet) {
		u.then(getRemark, "checks the frame: good")
		return
	}
	u.then(getKeep, "checks the frame: good")
}

// claim asks for the right to load. The claim is granted on an empty cell and over what the Get
// saw: a frame that it refused, or a claim that it waited for too long. A Get without a claim looks
// again: its claim was refused, or it waits for another Get's claim.
func (t *steps) claim() {
	again := t.turn()
	again.g.reply = cell{}
	again.then(getMark, "looks again")
	c := t.from.cell
	if c.kind != absent && c.nonce != t.from.get.reply.nonce {
		return
	}
	n := t.from.newNonce()
	granted, lost := t.turn(), t.turn()
	for _, u := range []*turn{granted, lost} {
		u.s.cell = cell{kind: claimed, nonce: n}
		u.g.reply = cell{}
	}
	granted.g.claim = n
	granted.then(granted.firstOfLoad(), [...]string{"claims the cell", "steals the claim", "claims the cell, over the frame"}[c.kind])
	lost.then(lost.firstOfLoad(), "claims the cell; the answer is lost on the wire")
}
