package audits

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

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
	calls.Task
	of  *Auditor
	j   resident.Job // its Entry is the entry of the hit
	src resident.Source
	ctx context.Context // of the hit: its values count, its end does not
}

// Cancel implements [calls.Canceler]. Close has ended the audit already.
func (a *audit) Cancel() {}

// hit begins an audit of a hit with the given chance. It leaves out values that are stale by their
// policy, and remembered errors: the source may say something else now.
func (a *Auditor) hit(ctx context.Context, j resident.Job, it *resident.Entry, src resident.Source, chance float64) {
	now := j.Core.Now()
	if rand.Float64() >= chance || !j.CanLoad() || it.Remembered() || it.Freshness(now) < resident.Untrusted || resident.FillOf(ctx).Auditing() {
		return
	}
	if !a.take(now) {
		j.View.Counts.Inc(measure.AuditsSkipped)
		return
	}
	one := &audit{of: a, j: j, src: src, ctx: context.WithoutCancel(ctx)}
	one.j.Entry, one.j.Used = it, true
	if j.Core.Work.Begin(&one.Task, one) {
		go one.run()
	}
}

func (a *audit) run() {
	defer a.j.Core.Work.End(&a.Task)
	defer a.j.Core.Survive("of an audit")
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
		a.j.View.Counts.Inc(outcome)
	}()
	if a.j.Spell() == nil {
		outcome = a.compare()
	}
	return outcome
}

// compare makes steps 2 to 5.
func (a *audit) compare() measure.Stat {
	if !a.wait(auditGrace) || !a.stands() {
		return measure.AuditsEnded
	}
	first, why := a.ask()
	switch {
	case why != measure.AuditsSame:
		return why
	case a.equal(first, a.j.Entry):
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
		a.j.View.Remarks.Volatile.Do(func() {
			a.j.Core.Log.Warn("cache: an audit loaded a value twice, and the two differ: set Config.Equal if a part of the value is new in every load",
				"namespace", a.j.View.Space.Namespace)
		})
		return measure.AuditsFailed
	}
	return measure.AuditsStale
}

// wait waits for the log's bound and more. It reports false if the Tiers close meanwhile.
func (a *audit) wait(more time.Duration) bool {
	d := auditPause
	if a.j.Core.Follower != nil {
		d = time.Duration(a.j.Core.Bound) + more
	}
	d += a.j.Policy.ReplicaLag // until then the source may show what was there before a Set
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.j.Core.Closing.Done():
		return false
	}
}

// stands reports whether the entry could be the answer of a hit now.
func (a *audit) stands() bool {
	j := &a.j
	if j.Core.Work.Closed() || j.View.Policy().Off {
		return false
	}
	if j.Opts.Skip&resident.SkipLocal == 0 && j.View.Lookup(j.Addr, j.Same) != j.Entry {
		return false
	}
	return j.View.Clear(j.Entry) && j.Entry.Freshness(j.Core.Now()) >= resident.Untrusted
}

// learn waits for the bound. Then it makes sure that this process knows every invalidation up to
// now, and returns measure.AuditsSame if the entry still stands. Without a log, a missing cell shows
// that another process has invalidated the key.
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
	case j.Core.Follower != nil:
		if j.Core.Follower.Confirm(ctx, j.Core.Now(), auditPatience) != nil {
			return measure.AuditsFailed
		}
	case j.Far() != nil:
		f, err := j.GetCell(ctx, new(calls.Deadline))
		if err != nil {
			return measure.AuditsFailed
		}
		// A cell has its times in whole milliseconds.
		if f.Verdict != resident.Usable || time.Duration(f.It.LoadedAt-j.Entry.LoadedAt).Abs() > 3*time.Millisecond {
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
	stop := context.AfterFunc(a.j.Core.Closing, cancel)
	return ctx, func() { stop(); cancel() }
}

// ask calls the loader once. It returns measure.AuditsSame with an answer, and otherwise the audit's outcome.
func (a *audit) ask() (got *resident.Entry, why measure.Stat) {
	t := a.j.Core
	defer a.of.running.Add(-1)
	if a.of.running.Add(1) > a.of.most || !t.Loads.TryAcquire(1) {
		return nil, measure.AuditsSkipped
	}
	ctx, cancel := a.context(a.j.Policy.LoadTimeout)
	defer cancel()
	got, ok := engine.Probe(ctx, &a.j)
	if !ok {
		return nil, measure.AuditsFailed
	}
	return got, measure.AuditsSame
}
