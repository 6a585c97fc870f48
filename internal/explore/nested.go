package explore

// A value may be built from another cached value, and that one from a third. All of them carry the
// tag. The model treats them as one value: a load that reads a part reads the entry of its own
// process, and its result may replace that entry. So one entry represents a tower of any height.

// part reads a cached value from within a load. It fetches the entry and reads the lease, as any
// Get does.
func (t *steps) part(i int) {
	u := t.turn(i)
	if !u.Nested || u.r.local.version == 0 || u.is(MarkAfterLoad) {
		return
	}
	g := u.g
	g.outer, g.e, g.lease = g.e, u.r.local, u.r.lease
	u.then(getPart, "loads from a part: finds its entry; reads the lease")
}

// callerPart judges a part as a hit is judged. If the part must not be served, the load reads the
// source.
func (t *steps) callerPart(i int) {
	u := t.turn(i)
	g := u.g
	if g.stage == getPart {
		t.vouch(i)
		return
	}
	if u.hitWaits() {
		return
	}
	covered := u.covers(u.r, g.e)
	if g.e.stale || covered && u.expires(u.r) {
		v := u.turn(i)
		v.build(!u.is(FreshBuilt), "looks at the part's fences: it has expired; builds v1 from it")
	}
	if g.e.stale || covered {
		u.unbuilt("looks at the part's fences: it is covered")
		return
	}
	u.build(false, "looks at the part's fences: builds v1 from it")
}

// build makes a value from the part.
func (u *turn) build(stale bool, what string) {
	g := u.g
	version := g.e.version
	g.e, g.outer = g.outer, entry{}
	g.e.version, g.e.stale = version, stale
	u.then(getCheck, what)
}

// vouch judges a part by the clock. A lease vouches for the part as of its question, and a young
// part vouches for itself as of its load. The built value is no younger than the better of the two.
func (t *steps) vouch(i int) {
	g := &t.from.gets[i]
	if g.lease != lapsed {
		u := t.turn(i)
		u.age(max(g.lease, g.e.loaded))
		u.then(getPartFences, "judges the part: the lease holds")
	}
	if g.e.loaded != lapsed {
		u := t.turn(i)
		u.age(g.e.loaded)
		u.then(getPartFences, "judges the part: the lease has lapsed, but it is young")
	}
	u := t.turn(i)
	u.unbuilt("judges the part: the lease has lapsed")
}

// age makes the value that is being built as old as the evidence for its part.
func (u *turn) age(vouched stamp) {
	u.g.lease = lapsed
	if !u.is(OuterAge) {
		u.g.outer.loaded = min(u.g.outer.loaded, vouched)
	}
}

// unbuilt gives up the part.
func (u *turn) unbuilt(what string) {
	g := u.g
	g.lease, g.e, g.outer = lapsed, g.outer, entry{}
	u.then(getLoad, what)
}
