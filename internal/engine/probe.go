package engine

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
)

// Probe calls the job's loader once, for a comparison. Its caller has acquired a turn among MaxLoads, which
// Probe gives back. It joins no flight, takes no claim, and stores nothing. ErrNotFound is an answer: an entry with that error. ok is false
// if there is no answer, or if the loader or a part says that the value is not for keeping.
func Probe(ctx context.Context, j *resident.Job) (got *resident.Entry, ok bool) {
	t := j.Core
	turn := new(resident.Turn)
	turn.Take(t.Loads)
	defer turn.Leave()
	fill := &resident.Fill{Audit: true, Turn: turn}
	fill.Open(nil, &t.Fills, j.View.Space.Tenant, j.FullKey())
	ctx = fill.Within(ctx)
	end := func(bool) {}
	if t.Seen.Tracing() { // like a refresh, it outlives the call that caused it
		ctx, end = t.Seen.LoadStart(ctx, j.View.Counts, "cache.audit", true)
	}
	j.View.Counts.Inc(measure.Loads)
	var at attempt
	var err error
	defer func() { // also after a Goexit
		t.Seen.LoadEnd(ctx, j.View.Counts, at.took, at.failed)
		end(at.failed)
	}()
	at.guard(t, fill, func() error {
		got, err = probe(ctx, j)
		return err
	})
	if at.panicked != nil {
		j.View.Counts.Inc(measure.LoadPanics)
	}
	f := &at.facts
	return got, at.panicked == nil && err == nil && ctx.Err() == nil && !f.Unstored && !f.NeverFresh && !f.OfExpired
}

func probe(ctx context.Context, j *resident.Job) (*resident.Entry, error) {
	e := j.Take(j.Core.Fences.Capture())
	var err error
	if j.Many {
		var errs []error
		errs, _ = j.View.Kind.LoadMany(ctx, []*resident.Entry{e})
		err = errs[0]
	} else {
		err = j.View.Kind.Load(ctx, j.Loader, e)
	}
	switch {
	case errors.Is(err, fault.ErrNotFound):
		e.Writable().Err = err
	case err != nil:
		return nil, err
	default:
		j.View.Kind.Clone(e) // the loader may keep the value and change it
	}
	return e, nil
}
