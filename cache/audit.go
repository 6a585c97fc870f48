package cache

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

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

// Auditing reports whether the loader that got ctx runs for an audit, whose value is compared and
// not stored; see Audit of policy.Policy. A loader may ask the primary then instead of a replica,
// or count the call apart. A load that such a loader causes is an ordinary one, and its value is
// stored: there it returns false, as outside a loader.
func Auditing(ctx context.Context) bool {
	f, _ := ctx.Value(fillKey{}).(*Fill)
	return f != nil && f.audit
}

// audit is one hit that is compared with the source. Its own goroutine runs it.
type audit struct {
	scope.Task
	j   job // its e is the entry of the hit
	src Source
	ctx context.Context // of the hit: its values count, its end does not
}

// Cancel implements [scope.Canceler]. Close has ended the audit already.
func (a *audit) Cancel() {}

// sampleOf returns the bits by which [chosen] chooses the local hits that may be audited: about one
// hit in 1/share, and no fewer than the sample has anyway.
func sampleOf(share float64) int64 {
	every := int64(sampled)
	for every > 1 && share*float64(every) > 1 {
		every /= 2
	}
	return every - 1
}

// audit draws from the noted local hits. Their share of all hits is known.
func (v *view) audit(ctx context.Context, it *entry) {
	p := v.inForce()
	if p.Audit == 0 {
		return
	}
	var j job
	j.start(v, "audit", nil, &anyAge)
	j.at = v.kind.Slot(it)
	j.audit(ctx, it, Local, p.Audit*float64(j.t.notable.Load()&p.sample+1))
}

// audit begins an audit of a hit with the given chance. A value that is stale by its policy and a
// remembered error need not be what the source says now.
func (j *job) audit(ctx context.Context, it *entry, src Source, chance float64) {
	now := j.t.now()
	if rand.Float64() >= chance || !j.canLoad() || it.remembered() || it.freshness(now) < untrusted || Auditing(ctx) {
		return
	}
	if !j.t.audits.take(now) {
		j.v.counts.inc(auditsSkipped)
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
	if a.conclude() == auditsStale {
		a.report()
	}
}

// conclude makes all steps and counts the outcome. An audit fails if the user's code panics, or ends
// the goroutine by runtime.Goexit.
func (a *audit) conclude() (outcome stat) {
	outcome = auditsFailed
	defer func() {
		_ = recover()
		a.j.v.counts.inc(outcome)
	}()
	if a.j.spell() == nil {
		outcome = a.judge()
	}
	return outcome
}

// judge makes steps 2 to 5.
func (a *audit) judge() stat {
	if !a.wait(auditGrace) || !a.stands() {
		return auditsEnded
	}
	first, why := a.ask()
	switch {
	case why != auditsSame:
		return why
	case a.equal(first, a.j.e):
		return auditsSame
	}
	if why := a.learn(); why != auditsSame {
		return why
	}
	second, why := a.ask()
	switch {
	case !a.stands():
		return auditsEnded
	case why != auditsSame:
		return why
	case !a.equal(first, second):
		a.j.v.remarks.volatile.Do(func() {
			a.j.t.log.Warn("cache: an audit loaded a value twice, and the two differ: set Config.Equal if a part of the value is new in every load",
				"namespace", a.j.v.space.Namespace)
		})
		return auditsFailed
	}
	return auditsStale
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
	if j.t.work.Closed() || j.v.policy().Off {
		return false
	}
	if !j.o.skipLocal && j.v.lookup(j.at, j.same) != j.e {
		return false
	}
	return j.v.clear(j.e) && j.e.freshness(j.t.now()) >= untrusted &&
		!j.t.fences.Held(j.hash, j.FullKey(), &j.e.Deps, j.e.readAt())
}

// learn waits for the bound. Then it makes sure that this process knows every invalidation up to
// now, and returns auditsSame if the entry still stands. Without a log, another process tells of an
// invalidation by removing the cell.
func (a *audit) learn() stat {
	j := &a.j
	if safeguard.Off(safeguard.Audit) {
		return auditsSame
	}
	if !a.wait(0) {
		return auditsEnded
	}
	ctx, cancel := a.context(auditPatience)
	defer cancel()
	switch {
	case j.t.follower != nil:
		if j.t.follower.Confirm(ctx, j.t.now(), auditPatience) != nil {
			return auditsFailed
		}
	case j.far() != nil:
		f, err := j.getCell(ctx, new(scope.Deadline))
		if err != nil {
			return auditsFailed
		}
		// A cell has its times in whole milliseconds.
		if f.verdict != usable || time.Duration(f.it.loadedAt-j.e.loadedAt).Abs() > 3*time.Millisecond {
			return auditsEnded
		}
	}
	if !a.stands() {
		return auditsEnded
	}
	return auditsSame
}

// context returns a context with the values of the hit. It ends when the Tiers close.
func (a *audit) context(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	stop := context.AfterFunc(a.j.t.audits.closing, cancel)
	return ctx, func() { stop(); cancel() }
}

// span begins the span of an audit's load. Like a refresh, it outlives the call that caused it.
func (a *audit) span(ctx context.Context) (context.Context, func(failed bool)) {
	o, opts := a.j.t.seen, a.j.v.counts.span
	if !o.tracing() {
		return ctx, func(bool) {}
	}
	opts = append(slices.Clip(opts), trace.WithNewRoot(), trace.WithLinks(trace.LinkFromContext(ctx)))
	ctx, s := o.tracer.Start(ctx, "cache.audit", opts...)
	return ctx, func(failed bool) { s.End(failed, "load failed") }
}
