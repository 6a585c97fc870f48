package explore

// invalStage is the progress of the invalidation. The source is written first. Then the cell is
// removed and the record appended, in this order unless a mutant breaks it.
type invalStage uint8

const (
	invalIdle invalStage = iota
	invalWritten
	invalQueued // waits for a round of the syncer to carry the record
	invalLogged // a round that carried it has ended
	invalDone
	invalAcked
)

// invalidator takes the steps of one Invalidate in P, right after a write to the source.
func (t *steps) invalidator() {
	s := *t.from
	switch s.inval {
	case invalIdle:
		s.version, s.inval = newVersion, invalWritten
		t.add("P invalidate", "the source is written: v2", &s)
	case invalWritten:
		if t.is(LogFirst) {
			s.inval = invalQueued
			t.add("P invalidate", "hands the record to the syncer", &s)
			return
		}
		t.unlink(&s, invalQueued)
	case invalQueued:
		if t.is(AckFirst) {
			t.ack(&s)
		}
	case invalLogged:
		if t.is(LogFirst) {
			t.unlink(&s, invalDone)
			return
		}
		t.ack(&s)
	case invalDone:
		t.ack(&s)
	case invalAcked:
	}
}

// unlink removes the cell, if the invalidation names it.
func (t *steps) unlink(s *state, then invalStage) {
	s.inval = then
	if t.Mode != Key || t.is(NoUnlink) {
		t.add("P invalidate", "removes no cell", s)
		return
	}
	s.cell = cell{}
	t.add("P invalidate", "UNLINK of the cell", s)
}

// ack lets Invalidate return, and with Settle the call that waits for B after it.
func (t *steps) ack(s *state) {
	if !t.Settle {
		s.phase, s.inval = waiting, invalAcked
		t.add("P invalidate", "returns; B counts from here", s)
	} else if s.phase == passed {
		s.inval = invalAcked
		t.add("P invalidate", "returns", s)
	}
}

// time takes the steps that happen by themselves.
func (t *steps) time() {
	if t.from.phase == waiting {
		s := *t.from
		s.lapse()
		t.add("time", "B has passed", &s)
	}
	if t.Settle && t.from.phase == before && (t.from.logged || (t.is(WaitFirst) && t.from.inval > invalIdle)) {
		s := *t.from
		s.phase = waiting
		t.add("P invalidate", "begins to wait for B", &s)
	}
	if t.from.cell.kind != absent {
		s := *t.from
		s.cell = cell{}
		t.add("redis", "the cell expires", &s)
	}
}

// unlogged reports whether the record waits for a round that carries it. With mutant AckFirst it
// still does after the call has returned.
func (t *steps) unlogged() bool {
	return t.from.inval == invalQueued || t.is(AckFirst) && t.from.inval == invalAcked && !t.from.logged
}

// append is P's syncer if the caller is in Q: it carries the record, and nothing else of P's matters.
// The answer may be lost; the next round carries the record again.
func (t *steps) append() {
	if t.Own || !t.unlogged() {
		return
	}
	s := *t.from
	if !s.logged {
		s.logged = true
		t.add("P syncer", "the log appends the record", &s)
		return
	}
	s.inval = invalLogged
	t.add("P syncer", "knows that the record is in the log", &s)
}

// obliged reports whether a Get that starts now must return the new version. This is the guarantee.
func (t *steps) obliged() bool {
	if t.Settle || t.Own {
		return t.from.inval == invalAcked
	}
	return t.from.phase == passed
}
