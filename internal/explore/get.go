package explore

// getStage is the step that a Get takes next.
type getStage uint8

const (
	getIdle       getStage = iota
	getClock               // checks the lease that it has read
	getFences              // looks at the fences
	getLease               // mutant FencesFirst: reads the lease
	getLapsed              // has no lease
	getMark                // notes its mark before a fetch
	getFetch               // GET
	getCheckFrame          // checks the frame
	getRemark              // mutant MarkAfterGet: notes its mark now
	getClaim               // claims
	getLoadMark            // notes its mark before a load
	getLoad                // reads the source
	getCheck               // checks whether a fence has overtaken the load
	getFill                // fills
	getKeep                // puts the value into the local tier and returns it
)

// caller takes the next step of a Get.
func (t *steps) caller() {
	switch t.from.get.stage {
	case getIdle, getClock, getFences, getLease, getLapsed:
		t.callerLocal()
	case getMark, getFetch, getCheckFrame, getRemark, getClaim:
		t.callerRemote()
	case getLoadMark, getLoad, getCheck, getFill, getKeep:
		t.callerLoad()
	}
}

// turn is a step of one Get: the next state, and in it the Get and its process.
type turn struct {
	*steps
	s state
	g *get
	r *process
}

// turn starts a step of the caller. Alternative steps of one stage each start their own turn.
func (t *steps) turn() *turn {
	u := &turn{steps: t, s: *t.from}
	u.g, u.r = &u.s.get, &u.s.proc
	return u
}

// then ends the step.
func (u *turn) then(next getStage, what string) {
	u.g.stage = next
	u.done(what)
}

func (u *turn) done(what string) {
	u.add("caller", what, &u.s)
}

// finish returns the result of the Get to its caller.
func (u *turn) finish(what string) {
	g := u.g
	if g.fresh && g.e.version == oldVersion {
		u.s.bad = true
	}
	if g.e.version == oldVersion {
		what += ": returns v1"
	} else {
		what += ": returns v2"
	}
	g.end()
	u.done(what)
}
