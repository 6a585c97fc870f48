package explore

// applier applies the record in a process. Either the tail or the syncer has it, under one lock.
// The tail may have it as soon as it is in the log, so the model need not distinguish them: a
// syncer with the record in its reply waits until the record is applied, perhaps by itself.
func (t *steps) applier() {
	s := *t.from
	r := &s.proc
	if r.fence == applied || !s.logged {
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
	who := "tail"
	if r.sync.stage == syncAnswered && r.sync.seen {
		who = "syncer"
	}
	t.add(who, what, &s)
}

// asker is the syncer of the caller's process. It asks the log, which answers in one step with
// everything that the process has not applied. The syncer extends the lease when that is applied.
// P's syncer also carries the record.
func (t *steps) asker() {
	s := *t.from
	next := &s.proc.sync
	switch next.stage {
	case syncIdle:
		*next = syncer{stage: syncSent, asked: s.now(), carries: t.Own && t.unlogged()}
		t.add("syncer", "asks the log", &s)
	case syncSent:
		what := "the log answers"
		if next.carries {
			s.logged = true
			what = "the log appends the record and answers"
		}
		next.stage, next.seen = syncAnswered, s.logged
		t.add("syncer", what, &s)
		t.giveUp()
	case syncAnswered:
		t.extend()
		t.giveUp()
	}
	t.tail()
}

// giveUp loses a question, or its answer, on the wire. A later question carries the same.
func (t *steps) giveUp() {
	s := *t.from
	s.proc.sync = syncer{}
	t.add("syncer", "gives up waiting for the answer", &s)
}

// extend ends a round. It extends the lease after everything in the answer is stored.
func (t *steps) extend() {
	s := *t.from
	r := &s.proc
	y := r.sync
	applying := (r.fence == ticked || r.fence == stored) && !t.is(NoApplyLock)
	behind := y.seen && (r.at < recordAt || applying)
	if behind && !t.is(LeaseFirst) {
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
	t.add("syncer", what, &s)
}

// tail implements mutant TailExtends: even a reply without a record counts as a sign of the log.
func (t *steps) tail() {
	if !t.is(TailExtends) {
		return
	}
	s := *t.from
	r := &s.proc
	if r.tailing {
		r.tailing = false
		r.lease = s.now()
		t.add("tail", "an empty reply arrives: extends the lease", &s)
	} else if !s.logged {
		r.tailing = true
		t.add("tail", "the log has nothing new", &s)
	}
}
