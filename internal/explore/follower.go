package explore

var (
	syncNames = [...]string{"P syncer", "Q syncer"}
	tailNames = [...]string{"P tail", "Q tail"}
)

// applier applies the record in a process. Either the tail or the syncer has it, under one lock.
// The tail may have it as soon as it is in the log, so the model need not distinguish them: a
// syncer with the record in its reply waits until the record is applied, perhaps by itself.
func (t *steps) applier(i int) {
	duty := t.owes(i)
	if duty == noDuty || !t.alive(t.from, i) {
		return
	}
	if duty == epochDuty {
		t.enter(i)
		return
	}
	s := *t.from
	r := &s.procs[i]
	r.fence++
	if r.fence == ticked {
		r.fenceAt = s.log.end()
	}
	if (t.Mode == Soft && !t.Nested || t.Mode == Key && t.Outbox && s.log != recordedBumped) && r.fence == ticked {
		missed := s
		missed.procs[i].gap = true
		t.add(tailNames[i], "finds a hole in place of the record: gives up all that is older", &missed)
	}
	if r.fence == applied || (t.is(CursorFirst) && r.fence == ticked) {
		r.at, r.cursor = r.fenceAt, fits
	}
	what := [...]string{"", "the fence takes its tick", "the fence is stored", "the position moves"}[r.fence]
	if r.fence == stored && t.is(DeleteOnly) {
		r.local = entry{}
		what = "the entry is deleted"
	}
	if t.is(CursorFirst) && r.fence == ticked {
		what = "the position moves, and the fence has no tick yet"
	}
	who := tailNames[i]
	if r.sync.stage == syncAnswered && r.sync.seen > 0 {
		who = syncNames[i]
	}
	t.add(who, what, &s)
}

// asker is the syncer of a process. It asks the log, which answers in one step with everything that
// the process has not applied. The syncer extends the lease when that is applied. P's syncer also
// carries the record.
func (t *steps) asker(i int) {
	y := t.from.procs[i].sync
	carries := i == p && t.from.inval == invalQueued || t.ackedUnlogged(i)
	if y.stage == syncIdle && !carries && !t.from.box.pending() && !t.alive(t.from, i) {
		return
	}
	s := *t.from
	next := &s.procs[i].sync
	switch y.stage {
	case syncIdle:
		*next = syncer{stage: syncSent, asked: s.now(), carries: carries}
		t.add(syncNames[i], "asks the log", &s)
	case syncSent:
		if t.Outbox {
			t.stage(i)
			t.giveUp(i)
			break
		}
		what := "the log answers"
		if t.notices(i) {
			s.log = s.log.bump()
			what = "the log starts an epoch and answers"
		}
		if y.carries {
			s.log = s.log.append()
			what = "the log appends the record and answers"
		}
		next.stage, next.seen = syncAnswered, s.log.end()
		t.add(syncNames[i], what, &s)
		t.giveUp(i)
	case syncAnswered:
		t.extend(i)
		t.giveUp(i)
	case syncStaged, syncRemoved, syncNumbered, syncDeleted:
		t.numbering(i)
		t.giveUp(i)
	}
	t.tail(i)
}

// ackedUnlogged reports whether mutant AckFirst still has to append the record.
func (t *steps) ackedUnlogged(i int) bool {
	return i == p && t.is(AckFirst) && t.from.inval == invalAcked && !t.from.log.appended()
}

// giveUp loses a question, or its answer, on the wire. A later question carries the same.
func (t *steps) giveUp(i int) {
	s := *t.from
	s.procs[i].sync = syncer{}
	t.add(syncNames[i], "gives up waiting for the answer", &s)
}

// extend ends a round. It extends the lease after everything in the answer is stored.
func (t *steps) extend(i int) {
	s := *t.from
	r := &s.procs[i]
	y := r.sync
	applying := (r.fence == ticked || r.fence == stored) && !t.is(NoApplyLock)
	behind := r.at < y.seen || (y.seen > 0 && applying)
	if behind && t.alive(t.from, i) && !t.is(LeaseFirst) {
		return
	}
	if t.is(StampAtReply) {
		y.asked = s.now()
	}
	r.lease = max(r.lease, y.asked)
	r.sync = syncer{}
	if y.carries && s.inval == invalQueued {
		s.inval = invalLogged
	}
	what := "extends the lease, to B after it asked"
	if r.lease == lapsed {
		what = "asked too long ago to extend the lease"
	}
	t.add(syncNames[i], what, &s)
}

// tail implements mutant TailExtends: even a reply without a record counts as a sign of the log.
func (t *steps) tail(i int) {
	if !t.is(TailExtends) {
		return
	}
	s := *t.from
	r := &s.procs[i]
	if r.tailing {
		r.tailing = false
		r.lease = s.now()
		t.add(tailNames[i], "an empty reply arrives: extends the lease", &s)
	} else if !s.log.appended() {
		r.tailing = true
		t.add(tailNames[i], "the log has nothing new", &s)
	}
}
