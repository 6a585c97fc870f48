package explore

// With Outbox the log is a table in the source's own database. The transaction that writes the
// source adds a row without a number. Every round of a syncer, in any process, looks for such rows.
// It stages them, which means that it reads them; removes the cells that they name; and numbers
// them: one statement deletes the rows and appends the record. A process may die between any two of
// these steps.

// outbox is the table as a round finds it. It may hold the row of the invalidation and a row of
// another key.
type outbox struct {
	ours, other bool // rows without a number
	replaced    bool // the server is an older copy: it has lost other, and gives its id to ours
	hidden      bool // mutant LowLate: the low-water mark is beyond ours
}

// pending reports whether a round may find something to number.
func (b outbox) pending() bool { return b.ours || b.other }

// batch is the rows that a round has staged.
type batch struct {
	ours, other bool
	replaced    bool // staged on the older copy
}

// transaction is the writer: the source and the row change in one step. The writer has no later
// step, so its death changes nothing. From then on a caller of P may request a round and wait for
// its end: Ready.
func (t *steps) transaction() {
	s := *t.from
	switch s.inval {
	case invalIdle:
		if t.is(RemoveInside) {
			t.unlink(&s, invalOpen)
			return
		}
		t.commit(&s)
	case invalOpen:
		t.commit(&s)
	case invalWritten: // mutant AfterCommit, unless the writer dies first
		s.box.ours, s.inval = true, invalQueued
		t.add("P writer", "adds a row to the outbox", &s)
	default: // a round that P requested has ended, or P waits for it
	}
}

func (t *steps) commit(s *state) {
	s.version, s.phase = newVersion, waiting
	if t.is(AfterCommit) {
		s.inval = invalWritten
		t.add("P writer", "COMMIT without a row: v2; B counts from here", s)
		return
	}
	s.box.ours, s.inval = true, invalQueued
	t.add("P writer", "COMMIT with a row in the outbox: v2; B counts from here", s)
}

// stage is the first statement of a round. Without rows it is the only one.
func (t *steps) stage(i int) {
	s := *t.from
	y := &s.procs[i].sync
	what := "the log answers"
	if t.notices(i) {
		if s.log = s.log.bump(); s.version == newVersion {
			s.log = recordedBumped // covers what was committed before it
		}
		what = "the log starts an epoch and answers"
	}
	rows := batch{ours: s.box.ours && !s.box.hidden, other: s.box.other, replaced: s.box.replaced}
	found := rows.ours || rows.other
	if !found || t.is(AnswerFirst) {
		u := s
		u.procs[i].sync.answer(u.log)
		t.add(syncNames[i], what, &u)
	}
	if found {
		y.stage, y.rows = syncStaged, rows
		t.add(syncNames[i], "stages rows without a number", &s)
	}
}

// answer ends the log's work on a round.
func (y *syncer) answer(log history) {
	y.stage, y.seen, y.rows = syncAnswered, log.end(), batch{}
}

// numbering takes the further steps of a round that has staged rows.
func (t *steps) numbering(i int) {
	y := t.from.procs[i].sync
	removes := y.rows.ours && t.Mode == Key && !t.is(RemoveInside)
	switch {
	case y.stage == syncDeleted:
		s := *t.from
		s.log = s.log.append()
		s.procs[i].sync.answer(s.log)
		t.add(syncNames[i], "appends the record of rows that are gone", &s)
	case y.stage == syncNumbered:
		t.remove(i, syncAnswered)
	case y.stage == syncStaged && removes && !t.is(NumberFirst):
		t.remove(i, syncRemoved)
	case y.stage == syncStaged && removes:
		t.number(i, syncNumbered)
	default:
		t.number(i, syncAnswered)
	}
}

// remove removes the cell that a staged row names.
func (t *steps) remove(i int, then syncStage) {
	s := *t.from
	s.cell = cell{}
	if y := &s.procs[i].sync; then == syncAnswered {
		y.answer(s.log)
	} else {
		y.stage = then
	}
	t.add(syncNames[i], "UNLINK of the cell that a row names", &s)
}

// number deletes the staged rows and appends a record for those that still existed. It names rows
// by their ids, so another server refuses it.
func (t *steps) number(i int, then syncStage) {
	s := *t.from
	y := &s.procs[i].sync
	if y.rows.replaced != s.box.replaced && !t.is(StagedElsewhere) {
		*y = syncer{}
		t.add(syncNames[i], "may not number the rows: it staged them on another server", &s)
		return
	}
	what := "numbers the rows"
	switch took := y.rows.ours && s.box.ours; {
	case took && t.is(DeleteFirst):
		what, then = "deletes the rows", syncDeleted
	case took:
		s.log = s.log.append()
		what = "numbers the rows: the record is in the log"
	}
	s.box.ours = s.box.ours && !y.rows.deletesOurs(s.box)
	s.box.other = s.box.other && !y.rows.other
	s.box.hidden = t.is(LowLate) && s.version == newVersion
	if y.stage = then; then == syncAnswered {
		y.answer(s.log)
	}
	t.add(syncNames[i], what, &s)
}

// deletesOurs reports whether the batch contains the id of our row. On the older copy our row has
// the former id of the other row.
func (r batch) deletesOurs(b outbox) bool {
	return r.ours || r.other && b.replaced && !r.replaced
}
