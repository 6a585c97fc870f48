package explore

// callerLocal is the part of a Get within its own process.
func (t *steps) callerLocal() {
	u := t.turn()
	g := u.g
	switch g.stage {
	case getIdle:
		if g.left == 0 {
			return
		}
		if v := t.turn(); v.r.local.version != 0 {
			v.call(true)
		}
		u.call(false)
	case getClock:
		t.clock()
	case getFences:
		u.fences()
	case getLease:
		g.lease = u.r.lease
		u.then(getClock, "reads the lease")
	case getLapsed:
		u.then(u.firstOfLoad(), "goes on without a lease")
		if v := t.turn(); v.r.lease != lapsed {
			v.g.lease = v.r.lease
			v.then(getClock, "reads the lease again")
		}
	default: // other functions handle the other stages
	}
}

// call starts a Get, with the entry or without it, as if evicted. It fetches the entry and reads
// the lease in one step.
func (u *turn) call(found bool) {
	g := u.g
	g.left--
	g.fresh = u.obliged()
	what := "Get begins: no entry; reads the lease"
	if found {
		g.e = u.r.local
		what = "Get begins: finds an entry; reads the lease"
	}
	if !u.is(FencesFirst) {
		g.lease = u.r.lease
		u.then(getClock, what)
		return
	}
	if found && u.covers(u.r, g.e) {
		g.e = entry{}
	}
	u.then(getLease, "Get begins: looks at the entry and the fences")
}

// clock compares what the Get has read with the current time. Early stamps lapsed when B passed. Any
// other stamp may be old as well: a stamp does not say how old it is. An entry may be served under a lease, or while
// its load is less than B ago.
func (t *steps) clock() {
	g := &t.from.get
	if g.lease != lapsed || t.is(NoLease) {
		u := t.turn()
		u.g.ok, u.g.lease = true, lapsed
		u.checkedClock(g.e.version != 0, "checks the lease: it holds")
	}
	if g.e.loaded != lapsed {
		u := t.turn()
		u.g.ok, u.g.lease = false, lapsed
		u.checkedClock(true, "checks the lease: it has lapsed, but the entry is young")
	}
	u := t.turn()
	u.g.ok, u.g.lease = false, lapsed
	u.checkedClock(false, "checks the lease: it has lapsed")
}

func (u *turn) checkedClock(usable bool, what string) {
	switch {
	case !usable:
		u.miss(what)
	case u.is(FencesFirst | CheckAtInsert | DeleteOnly):
		u.finish(what)
	default:
		u.then(getFences, what)
	}
}

func (u *turn) fences() {
	if u.hitWaits() {
		return
	}
	if !u.covers(u.r, u.g.e) {
		if u.is(NoteUnlocked) && u.r.local.version != 0 {
			u.r.local.born = max(u.r.local.born, u.mark(u.r).born)
		}
		u.finish("looks at the fences: hit")
		return
	}
	u.miss("looks at the fences: the entry is covered")
}

// miss goes to the remote tier if there is a lease.
func (u *turn) miss(what string) {
	g := u.g
	g.e = entry{}
	if !g.ok && !u.is(RemoteNoLease) {
		u.then(getLapsed, what)
		return
	}
	u.then(getMark, what)
}
