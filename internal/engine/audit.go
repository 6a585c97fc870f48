package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/filling"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/internal/scope"
)

// An audit compares a hit with the source. Guarantee 10 is about invalidations that were made. An
// audit finds the one that was not: the forgotten call, the wrong tag, the replica that lagged.
//
//  1. The sampling of hits offers candidates. The policy's Audit draws from them. MaxAudits of the
//     Tiers bounds how many begin in a second; the rest is skipped.
//  2. The audit waits for the log's bound and auditGrace. A write may have been committed whose
//     invalidation is on its way. That is within the promise.
//  3. If the entry was invalidated, expired, replaced or evicted meanwhile, the audit ends without
//     a load.
//  4. It calls the loader. The load stores nothing, joins no flight and takes no claim. It needs a
//     turn among MaxLoads, and does not wait for one.
//  5. If the values differ, it waits for the bound again. Then it makes sure that this process
//     knows every invalidation up to now. A write during the audit has invalidated the entry by
//     then. A second load must agree with the first one, or the source cannot be compared.
//  6. A hit that is stale is deleted for all processes, and reported.
//
// The caller of the hit waits for none of this. The goroutine of an audit ends when the Tiers close.

const (
	// auditGrace is added to the log's bound, for a program that invalidates after its commit.
	auditGrace = 100 * time.Millisecond

	// auditPause is how long an audit waits without a log.
	auditPause = time.Second

	// auditPatience limits how long an audit waits for the log or the remote tier before it fails.
	auditPatience = 2 * time.Second
)

// audit is one hit that is compared with the source. Its own goroutine runs it.
type audit struct {
	scope.Task
	j   Job // its e is the entry of the hit
	src entry.Source
	ctx context.Context // of the hit: its values count, its end does not
}

// Cancel implements [scope.Canceler]. Close has ended the audit already.
func (a *audit) Cancel() {}

// sampleOf returns the bits by which [chosen] chooses the local hits that may be audited: about one
// hit in 1/share, and no fewer than the sample has anyway.
func sampleOf(share float64) int64 {
	every := int64(measure.Sampled)
	for every > 1 && share*float64(every) > 1 {
		every /= 2
	}
	return every - 1
}

// audit draws from the noted local hits. Their share of all hits is known.
func (v *View) audit(ctx context.Context, it *entry.Entry) {
	p := v.inForce()
	if p.Audit == 0 {
		return
	}
	var j Job
	j.start(v, "audit", nil, &AnyAge)
	j.at = v.kind.Slot(it)
	j.audit(ctx, it, entry.Local, p.Audit*float64(j.t.notable.Load()&p.sample+1))
}

// audit begins an audit of a hit with the given chance. A value that is stale by its policy and a
// remembered error need not be what the source says now.
func (j *Job) audit(ctx context.Context, it *entry.Entry, src entry.Source, chance float64) {
	now := j.t.now()
	if rand.Float64() >= chance || !j.canLoad() || it.Remembered() || it.Freshness(now) < entry.Untrusted || filling.Auditing(ctx) {
		return
	}
	if !j.t.audits.take(now) {
		j.v.counts.Inc(measure.AuditsSkipped)
		return
	}
	a := &audit{j: *j, src: src, ctx: context.WithoutCancel(ctx)}
	a.j.e, a.j.used = it, true
	if j.t.work.Begin(&a.Task, a) {
		go a.run()
	}
}

func (a *audit) run() {
	defer a.j.t.work.End(&a.Task)
	defer a.j.t.survive("of an audit")
	if a.conclude() == measure.AuditsStale {
		a.report()
	}
}

// conclude makes all steps and counts the outcome. An audit fails if the user's code panics, or ends
// the goroutine by runtime.Goexit.
func (a *audit) conclude() (outcome measure.Stat) {
	outcome = measure.AuditsFailed
	defer func() {
		_ = recover()
		a.j.v.counts.Inc(outcome)
	}()
	if a.j.spell() == nil {
		outcome = a.judge()
	}
	return outcome
}

// judge makes steps 2 to 5.
func (a *audit) judge() measure.Stat {
	if !a.wait(auditGrace) || !a.stands() {
		return measure.AuditsEnded
	}
	first, why := a.ask()
	switch {
	case why != measure.AuditsSame:
		return why
	case a.equal(first, a.j.e):
		return measure.AuditsSame
	}
	if why := a.learn(); why != measure.AuditsSame {
		return why
	}
	second, why := a.ask()
	switch {
	case !a.stands():
		return measure.AuditsEnded
	case why != measure.AuditsSame:
		return why
	case !a.equal(first, second):
		a.j.v.remarks.volatile.Do(func() {
			a.j.t.log.Warn("cache: an audit loaded a value twice, and the two differ: set Config.Equal if a part of the value is new in every load",
				"namespace", a.j.v.Space.Namespace)
		})
		return measure.AuditsFailed
	}
	return measure.AuditsStale
}

// wait waits for the log's bound and more. It reports false if the Tiers close meanwhile.
func (a *audit) wait(more time.Duration) bool {
	d := auditPause
	if a.j.t.follower != nil {
		d = time.Duration(a.j.t.bound) + more
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.j.t.audits.closing.Done():
		return false
	}
}

// stands reports whether the entry could be the answer of a hit now.
func (a *audit) stands() bool {
	j := &a.j
	if j.t.work.Closed() || j.v.Policy().Off {
		return false
	}
	if !j.o.SkipLocal && j.v.lookup(j.at, j.same) != j.e {
		return false
	}
	return j.v.clear(j.e) && j.e.Freshness(j.t.now()) >= entry.Untrusted &&
		!j.t.fences.Held(j.hash, j.FullKey(), &j.e.Deps, j.e.ReadAt())
}

// learn waits for the bound. Then it makes sure that this process knows every invalidation up to
// now, and returns measure.AuditsSame if the entry still stands. Without a log, another process tells
// of an invalidation by removing the cell.
func (a *audit) learn() measure.Stat {
	j := &a.j
	if safeguard.Off(safeguard.Audit) {
		return measure.AuditsSame
	}
	if !a.wait(0) {
		return measure.AuditsEnded
	}
	ctx, cancel := a.context(auditPatience)
	defer cancel()
	switch {
	case j.t.follower != nil:
		if j.t.follower.Confirm(ctx, j.t.now(), auditPatience) != nil {
			return measure.AuditsFailed
		}
	case j.far() != nil:
		f, err := j.getCell(ctx, new(scope.Deadline))
		if err != nil {
			return measure.AuditsFailed
		}
		// A cell has its times in whole milliseconds.
		if f.verdict != usable || time.Duration(f.it.LoadedAt-j.e.LoadedAt).Abs() > 3*time.Millisecond {
			return measure.AuditsEnded
		}
	}
	if !a.stands() {
		return measure.AuditsEnded
	}
	return measure.AuditsSame
}

// context returns a context with the values of the hit. It ends when the Tiers close.
func (a *audit) context(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	stop := context.AfterFunc(a.j.t.audits.closing, cancel)
	return ctx, func() { stop(); cancel() }
}
