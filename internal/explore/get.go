package explore

// getStage is the step that a Get takes next.
type getStage uint8

const (
	getIdle       getStage = iota
	getClock               // judges the lease that it has read
	getFences              // looks at the fences
	getLease               // mutant FencesFirst: reads the lease
	getLapsed              // has no lease
	getJoin                // joins a flight or leads one
	getWait                // waits for a flight
	getLanded              // a flight it waited for has ended
	getMark                // notes its mark before a fetch
	getFetch               // GET
	getJudge               // judges the frame
	getRemark              // mutant MarkAfterGet: notes its mark now
	getClaim               // claims
	getLoadMark            // notes its mark before a load
	getLoad                // reads the source
	getPart                // judges the lease for a part
	getPartFences          // looks at the part's fences
	getCheck               // checks whether a fence has overtaken the load
	getFill                // fills
	getKeep                // puts the value into the local tier and returns it
)

var callerNames = [2][2]string{{"P caller 1", "P caller 2"}, {"Q caller 1", "Q caller 2"}}

// caller takes the next step of a Get.
func (t *steps) caller(i int) {
	switch t.from.gets[i].stage {
	case getIdle, getClock, getFences, getLease, getLapsed:
		t.callerLocal(i)
	case getJoin, getWait, getLanded:
		t.callerFlight(i)
	case getMark, getFetch, getJudge, getRemark, getClaim:
		t.callerRemote(i)
	case getPart, getPartFences:
		t.callerPart(i)
	case getLoadMark, getLoad, getCheck, getFill, getKeep:
		t.callerLoad(i)
	}
}

// turn is a step of one Get: the next state, and in it the Get, its process and the partner that
// may wait for its flight.
type turn struct {
	*steps
	i       int
	s       state
	g       *get
	r       *process
	partner *get
}

// turn starts a step of caller i. Alternative steps of one stage each start their own turn.
func (t *steps) turn(i int) *turn {
	u := &turn{steps: t, i: i, s: *t.from}
	u.g, u.partner = &u.s.gets[i], &u.s.gets[1-i]
	u.r = &u.s.procs[t.home(i)]
	return u
}

// then ends the step.
func (u *turn) then(next getStage, what string) {
	u.g.stage = next
	u.done(what)
}

func (u *turn) done(what string) {
	u.add(callerNames[u.home(u.i)][u.i], what, &u.s)
}

// finish returns the result of the Get to its caller, and to a Get that waits for its flight.
func (u *turn) finish(what string) {
	g := u.g
	if g.fresh && g.e.version == oldVersion && (!g.e.stale || u.Mode != Soft) {
		u.s.bad = true
	}
	if u.partner.stage == getWait && u.flying() {
		u.partner.stage, u.partner.e, u.partner.landed = getLanded, g.e, true
	}
	if g.e.version == oldVersion {
		what += ": returns v1"
	} else {
		what += ": returns v2"
	}
	if g.e.stale {
		what += ", as stale"
	}
	g.end()
	u.done(what)
}
