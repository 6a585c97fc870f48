package explore

// Loss is the part of the log's history that the server has forgotten, without a sign of it in the
// log. The remaining history is a prefix of the former one.
type Loss uint8

const (
	// LosesNothing is a log that keeps its history.
	LosesNothing Loss = iota
	// LosesRecord forgets the record at any time after its append.
	LosesRecord
	// LosesOther has forgotten a record of another key just before the start.
	// Q has applied that record and P has not. The next record takes its
	// position.
	LosesOther
	// LosesShared is LosesOther, but P has applied that record, too.
	LosesShared
	// LosesAll has forgotten the whole log just before the start. Both processes have restarted.
	// The number of the new epoch is below that of a surviving cell.
	LosesAll
	// LosesRow forgets a row of another key before the transaction. Rounds may have staged that
	// row. The next row gets its id. LosesRow requires Outbox.
	LosesRow
)

func (l Loss) String() string {
	return [...]string{"nothing", "record", "other", "shared", "all", "row"}[l]
}

// other reports whether a record of another key was lost before the start.
func (l Loss) other() bool { return l == LosesOther || l == LosesShared }

// A position is an epoch and a number; the model has room for two of each. A cell of an epoch with
// a higher number is above all of them.
const (
	first     = 1 // the first number of the epoch at the start
	bump      = 2 // the record that starts the next epoch
	second    = 3 // the first number of that epoch
	surviving = 8 // position of the cell that LosesAll leaves
)

// epoch returns the random id of a position's epoch. Every epoch here has a different number, so
// the number serves as the id.
func epoch(pos uint8) uint8 { return pos / 2 }

// history is the content of the log.
type history uint8

const (
	blank          history = iota
	recorded               // the record
	forgotten              // nothing: the record was there and is lost
	recordedBumped         // the record, or nothing if it was lost, and then an epoch
	bumped                 // an epoch
	bumpedRecorded         // an epoch, and then the record
)

// appended reports whether the record is in the log, or was.
func (h history) appended() bool { return h != blank && h != bumped }

// append returns the log with the record at its end. If a question is sent again, the record is
// already there.
func (h history) append() history {
	switch h {
	case blank, forgotten:
		return recorded
	case bumped:
		return bumpedRecorded
	default:
		return h
	}
}

// bump returns the log with a new epoch at its end.
func (h history) bump() history {
	if h == blank {
		return bumped
	}
	return recordedBumped
}

// end returns the position of the last record.
func (h history) end() uint8 {
	return [...]uint8{recorded: first, recordedBumped: bump, bumped: bump, bumpedRecorded: second}[h]
}

// cursor says whether the log still has the record at a process's position.
type cursor uint8

const (
	fits    cursor = iota
	foreign        // the log has lost it
	past           // mutant NoChain: a later record was accepted as the next one
)

// replaced reports whether the log has lost something and has not started an epoch since.
func (m *Model) replaced(s *state) bool {
	return s.log == forgotten || (m.Loss.other() || s.box.replaced) && s.log.end() < bump
}

// notices reports whether the log starts an epoch when process i asks. It does so if the server is
// not the one that wrote the last record, if it has another record at the caller's position, or if
// it ends before that position.
func (t *steps) notices(i int) bool {
	s := t.from
	r := &s.procs[i]
	switch {
	case !t.replaced(s):
		return false
	case !t.is(NoIdentity):
		return true
	case s.log == forgotten:
		return r.at == first && !t.is(NoAheadCheck)
	case s.log == blank:
		return r.cursor == foreign && !t.is(NoAheadCheck)
	default:
		return r.cursor == foreign && !t.is(NoRecordIDs)
	}
}

// duty is what a process still has to apply.
type duty uint8

const (
	noDuty    duty = iota
	fenceDuty      // the record, or a bump that covers as much
	epochDuty      // a bump that covers nothing relevant
)

// owes returns what process i has to apply next. A bump gives up everything older. To a process
// that knows the record, or before there is a record, the bump brings only the epoch.
func (t *steps) owes(i int) duty {
	s := t.from
	r := &s.procs[i]
	bumpFirst := s.log == bumped || s.log == bumpedRecorded
	switch {
	case bumpFirst && r.at < bump:
		return epochDuty
	case r.fence < applied && s.log.appended() && !t.blind(s, r):
		return fenceDuty
	case s.log == recordedBumped && r.at < bump:
		return epochDuty
	}
	return noDuty
}

// blind reports whether the process mistakes the record's position for one that it has applied. The
// tail may then bring it a later record. That record names the one before it, so the process
// detects the mismatch and gives up everything.
func (t *steps) blind(s *state, r *process) bool {
	return s.log == recorded && (r.cursor == past || (r.cursor == foreign && t.is(NoChain)))
}

// enter applies a bump only for its epoch.
func (t *steps) enter(i int) {
	s := *t.from
	r := &s.procs[i]
	r.at, r.cursor = bump, fits
	if r.fence == applied {
		r.fenceAt = bump
	}
	t.add(tailNames[i], "applies the bump: a new epoch", &s)
}

// server takes the steps of the log alone.
func (t *steps) server() {
	if t.Loss == LosesRecord && t.from.log == recorded {
		s := *t.from
		s.log = forgotten
		t.add("redis", "the log is replaced by a prefix of itself: the record is lost", &s)
	}
	if t.Loss == LosesRow && !t.from.box.replaced && t.from.inval == invalIdle {
		s := *t.from
		s.box = outbox{replaced: true}
		t.add("database", "the server is replaced by an older copy: the other row is lost", &s)
	}
	for i := range t.from.procs {
		r := &t.from.procs[i]
		if t.from.log == recorded && r.cursor == foreign && t.is(NoChain) {
			s := *t.from
			s.procs[i].cursor = past
			t.add(tailNames[i], "brings a later record, which is taken for the next one", &s)
		}
	}
}
