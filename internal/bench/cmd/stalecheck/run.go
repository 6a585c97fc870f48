package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// result is the result of a run.
type result struct {
	c         runConfig
	began     int64 // by proc.Now
	events    []history.Event
	verdict   *history.Verdict
	lag       history.Lag
	incidents []rig.Incident
	reports   []worker.Report
}

// run does the run: servers, workers, faults, and the check at the end.
func (c runConfig) run(ctx context.Context) (*result, error) {
	res := &result{c: c}
	return res, setup.Try(func() {
		r := setup.Must(rig.Start(ctx, c.Config))
		defer r.Close()
		res.began = proc.Now()
		during, cancel := context.WithTimeout(ctx, c.Duration)
		defer cancel()
		var err error
		res.incidents, err = r.Inject(during)
		setup.Check(ctx.Err()) // interrupted
		setup.Check(errors.Join(err, r.Finish()))
		res.collect(r.Hands, setup.Must(r.Course(ctx)))
	})
}

// collect reads the files of the workers and checks the events.
func (r *result) collect(hands []*rig.Hand, course *history.Course) {
	for _, h := range hands {
		r.events = append(r.events, setup.Must(history.ReadFile(h.Events, uint8(h.Number), h.Killed))...)
		if !h.Killed { // otherwise it could not report
			r.reports = append(r.reports, h.Report)
		}
	}
	rules := history.Rules{Bound: r.c.Bound, Own: rig.MinBound(r.c.Fault), Settled: r.c.Settle || r.c.Tickets, Soft: r.c.Soft}
	if r.c.Plain && r.c.DB == "" {
		rules.Own = rules.Bound // no process of the cache has made the call
	}
	if course != nil {
		r.verdict = course.Observe(r.events, rules)
	} else {
		r.verdict = history.Check(r.events, rules)
	}
	r.lag = history.Lags(r.events)
}

// errThin means that a run shows too little. Chance may do that to a short run on a busy machine, so
// a longer one decides.
var errThin = fmt.Errorf("%w, perhaps because the run was too short", setup.ErrFound)

// judge returns nil if the run has the expected result: no violations, or some if they are
// expected. A wrong value always fails the run.
func (r *result) judge() error {
	found := map[string]int{
		violations: len(r.verdict.Violations), alarms: r.verdict.Alarms - len(r.verdict.FalseAlarms), falseAlarms: len(r.verdict.FalseAlarms),
	}
	switch {
	case r.foreign() > 0:
		return fmt.Errorf("%w: %d reads returned another key's value", setup.ErrFound, r.foreign())
	case !r.c.breaks() && found[violations] > 0:
		return fmt.Errorf("%w: %d violations", setup.ErrFound, found[violations])
	case !r.c.breaks() && r.c.Expect != falseAlarms && found[falseAlarms] > 0:
		return fmt.Errorf("%w: %d false alarms", setup.ErrFound, found[falseAlarms])
	case r.verdict.Reads == 0 || r.verdict.Acks == 0 && r.c.Writers > 0:
		return fmt.Errorf("%w: %d reads and %d invalidations prove nothing", errThin, r.verdict.Reads, r.verdict.Acks)
	case r.verdict.Unseen*100 > r.verdict.Reads:
		return fmt.Errorf("%w: the observer of the source missed the versions of %d of %d reads", errThin, r.verdict.Unseen, r.verdict.Reads)
	case r.c.Expect != "" && found[r.c.Expect] == 0:
		return fmt.Errorf("%w: no %s although %s was switched off", errThin, r.c.Expect, r.c.Without)
	case r.c.Expect == "" && r.loads() > 100 && r.sum(func(rep *worker.Report) int64 { return rep.Stats.Audits.Same + rep.Stats.Audits.Ended }) == 0:
		return fmt.Errorf("%w: no audit", errThin)
	}
	return nil
}

// breaks reports whether the run removes a safeguard of the guarantee. Then an audit may find what
// the guarantee forbids.
func (c *runConfig) breaks() bool { return c.Expect == violations }

func (r *result) foreign() int64 { return r.sum(func(rep *worker.Report) int64 { return rep.Foreign }) }
