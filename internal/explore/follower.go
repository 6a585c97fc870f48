package explore

var (
	syncNames = [...]string{"P syncer", "Q syncer"}
	tailNames = [...]string{"P tail", "Q tail"}
)

// applier applies the record in a process. Either the tail or the syncer has it, under one lock.
// The tail may have it as soon as it is in the log, so the model need not distinguish them: a
// syncer with the record in its reply waits until the record is applied, perhaps by itself.
func (t *steps) applier(i int) {
	s := *t.from
	r := &s.procs[i]
	if r.fence == applied || !s.logged || !t.alive(t.from, i) {
		return
	}
	r.fence++
	if r.fence == applied || (t.is(CursorFirst) && r.fence == ticked) {
		r.at = recordAt
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
	if r.sync.stage == syncAnswered && r.sync.seen {
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
	if y.stage == syncIdle && !carries && !t.alive(t.from, i) {
		return
	}
	s := *t.from
	next := &s.procs[i].sync
	switch y.stage {
	case syncIdle:
		*next = syncer{stage: syncSent, asked: s.now(), carries: carries}
		t.add(syncNames[i], "asks the log", &s)
	case syncSent:
		what := "the log answers"
		if y.carries {
			s.logged = true
			what = "the log appends the record and answers"
		}
		next.stage, next.seen = syncAnswered, s.logged
		t.add(syncNames[i], what, &s)
		t.giveUp(i)
	case syncAnswered:
		t.extend(i)
		t.giveUp(i)
	}
	t.tail(i)
}

// ackedUnlogged reports whether mutant AckFirst still has to append the record.
func (t *steps) ackedUnlogged(i int) bool {
	return i == p && t.is(AckFirst) && t.from.inval == invalAcked && !t.from.logged
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
	behind := y.seen && (r.at < recordAt || applying)
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
	} else if !s.logged {
		r.tailing = true
		t.add(tailNames[i], "the log has nothing new", &s)
	}
}
