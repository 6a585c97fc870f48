package explore

// The two versions of the only value. An entry or a cell of version 0 has no value.
const (
	oldVersion = 1
	newVersion = 2
)

// stamp is a time, as far as it matters for lapsing after B.
type stamp uint8

const (
	lapsed stamp = iota // more than B ago, or never
	early               // less than B ago, and before the wait for B began
	late                // less than B ago, and after the wait for B began
)

// phase is the progress of time.
type phase uint8

const (
	before  phase = iota // what happens now is early
	waiting              // what happens now is late
	passed               // B has passed since waiting began: nothing is early any more
)

// state is everything that the next step can depend on. It holds only small numbers. Therefore two
// states are the same exactly if they compare equal.
type state struct {
	version uint8 // of the source
	phase   phase
	cell    cell
	logged  bool // the record is in the log
	inval   invalStage
	proc    process // the caller's
	get     get
	bad     bool // a Get has violated the guarantee
}

// cellKind is what the remote tier holds under the key.
type cellKind uint8

const (
	absent cellKind = iota
	claimed
	filled
)

// recordAt is the position of the record. Before it the position is 0.
const recordAt = 1

// cell is the remote tier's cell, or a Get's copy of it.
type cell struct {
	kind    cellKind
	nonce   uint8
	version uint8
	pos     uint8 // applied position of the process that loaded it
}

// process is the state that the Gets share.
type process struct {
	lease   stamp // when the last question that the log answered was asked
	fence   fenceStage
	at      uint8 // applied position
	local   entry
	sync    syncer
	tailing bool // mutant TailExtends: an empty reply is on its way
}

// fenceStage is how much of the record a process has applied, in order.
type fenceStage uint8

const (
	unknown fenceStage = iota
	ticked             // the fence has its tick
	stored             // readers find the fence
	applied            // the applied position has moved
)

// entry is an entry of the local tier, or one on its way there.
type entry struct {
	version uint8
	born    uint8 // tick of its mark
	asOf    uint8 // position for the frame that it may become; 0 for entries in the tier
	loaded  stamp // when its load began; lapsed: unknown, or too long ago
}

// syncer is the goroutine of a process that asks the log.
type syncer struct {
	stage   syncStage
	asked   stamp // when it asked
	seen    bool  // the reply has the record
	carries bool  // it appends the record
}

type syncStage uint8

const (
	syncIdle syncStage = iota
	syncSent
	syncAnswered
)

// get is one caller, which reads several times in a row.
type get struct {
	stage getStage
	left  uint8 // reads still to start
	fresh bool  // this one must not return the old version
	again bool  // it has loaded once and was overtaken
	ok    bool  // the check found that its lease holds
	lease stamp // as read
	e     entry // the entry that it looks at, or its mark, or its result
	reply cell  // of the remote tier
	claim uint8 // nonce of the claim it holds

	late cell // not of this Get: a fill for which an earlier Get stopped waiting, and which may still arrive
}

// end makes the caller ready for its next Get.
func (g *get) end() { *g = get{left: g.left, late: g.late} }

// now returns the current stamp.
func (s *state) now() stamp {
	if s.phase == before {
		return early
	}
	return late
}

// lapse lets B pass: all early stamps lapse.
func (s *state) lapse() {
	s.phase = passed
	for _, t := range []*stamp{&s.proc.lease, &s.proc.local.loaded, &s.proc.sync.asked, &s.get.lease, &s.get.e.loaded} {
		t.lapse()
	}
}

func (t *stamp) lapse() {
	if *t == early {
		*t = lapsed
	}
}

// canonical renames the nonces in order of appearance, since nonces are only ever compared with
// each other.
func (s *state) canonical() {
	var names [maxNonces]uint8
	next := uint8(1)
	for _, n := range s.nonces() {
		if *n == 0 {
			continue
		}
		if names[*n] == 0 {
			names[*n] = next
			next++
		}
		*n = names[*n]
	}
}

// maxNonces is the number of places for nonces, plus one for a new nonce and one for zero.
const maxNonces = 6

func (s *state) nonces() [4]*uint8 {
	return [...]*uint8{&s.cell.nonce, &s.get.reply.nonce, &s.get.claim, &s.get.late.nonce}
}

// newNonce returns an unused nonce. The used ones are the lowest numbers.
func (s *state) newNonce() uint8 {
	top := uint8(0)
	for _, n := range s.nonces() {
		top = max(top, *n)
	}
	return top + 1
}
