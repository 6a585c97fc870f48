package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
)

// flight is one key that is being fetched or loaded for all its callers. Their goroutines share
// it: the job and the terms never change, and the rest has its own locks. It does not
// refer to the goroutine that does the work; see party.
type flight struct {
	j     resident.Job
	mark  fence.Mark // captured before anything was fetched
	begun int64
	outer *resident.Fill // the load that began this flight, if nested

	calls.Call[*flight, outcome]
	lent    resident.Loan                 // of the loads that wait for this flight; see takeTurn
	loading atomic.Bool                   // a loader was called
	fill    atomic.Pointer[resident.Fill] // the latest load; see Fill.Await
	look    calls.Deadline                // of the first call to the remote tier
}

// outcome is the result of a flight.
type outcome struct {
	it        *resident.Entry // the value or remembered absence; nil when err is set
	src       resident.Source
	stale     measure.Reason  // why the entry is served although it is not fresh
	err       error           // why there is no value
	cause     error           // why it is absent, in the loader's words
	old       *resident.Entry // with err or a remembered error: an entry that may be served in place of it
	far       bool            // only the remote tier held old
	again     bool            // no result; each caller that waits starts over
	ofExpired bool            // the value was loaded from an expired part
	panicked  error
	span      *trace.SpanContext // of the load, for the spans of the callers that waited; may be nil
}

// end ends the flight, unless it has ended already. Any goroutine may call end.
func (f *flight) end(out outcome) {
	if errors.Is(out.err, context.Canceled) && f.j.Core.Work.Over() {
		out.err = fault.ErrClosed // the contexts of the work do not say why they end
	}
	if !f.Finish(out) {
		return
	}
	if f.j.Refreshing != nil {
		refreshed(&f.j, &out)
	}
}

// failed ends the flight with an error. An old value that may stand in for it is served for a
// Throttle without another load. failed notes that before it wakes the callers; otherwise the
// next read would load. If the loader declined, nothing stands in for its answer.
func (f *flight) failed(out outcome, spare *resident.Entry) {
	if !errors.Is(out.err, fault.ErrDeclined) {
		out.old = f.standIn(spare)
	}
	out.far = out.far && out.old == spare
	if out.old != nil && f.j.Refreshing == nil && f.Wanted() {
		out.old.LoadFailed(f.j.Core.Now(), f.j.Policy.Throttle)
	}
	f.end(out)
}

// standIn returns the entry to serve when the load fails. It may be spare, a value of the remote
// tier that the local tier may not hold.
func (f *flight) standIn(spare *resident.Entry) *resident.Entry {
	if it := f.j.Standing(); it != nil || spare == nil {
		return it
	}
	if spare.Err != nil || spare.Freshness(f.j.Core.Now()) == resident.Dead || !f.j.View.Clear(spare) {
		return nil
	}
	return spare
}

// predecessor returns the value that a load replaces: the newer of the local entry and spare,
// while it is kept.
func (f *flight) predecessor(spare *resident.Entry) *resident.Entry {
	var it *resident.Entry
	var now int64
	if f.j.Opts.Skip&resident.SkipLocal == 0 {
		it, now = f.j.Find()
	}
	if it != nil && !it.Precedes(now) {
		it = nil
	}
	if spare == nil || !spare.Precedes(f.j.Core.Or(now)) ||
		it != nil && it.LoadedAt >= spare.LoadedAt || !f.j.View.Clear(spare) {
		return it
	}
	return spare
}

// here returns the local entry if it answers the flight, and why that entry is stale.
func (f *flight) here() (*resident.Entry, measure.Reason) {
	if f.j.Opts.Skip&resident.SkipLocal != 0 {
		return nil, measure.NotStale
	}
	it, now := f.j.Find()
	if old := f.j.Refreshing; it == nil || old != nil && it.LoadedAt <= old.LoadedAt {
		return nil, measure.NotStale // or a refresh must replace it
	}
	if f.j.Opts.Anew || it.LoadedAt < f.j.MinLoaded {
		return nil, measure.NotStale
	}
	switch state := it.Freshness(now); {
	case state == resident.Fresh:
		return it, measure.NotStale
	case state != resident.Dead && !f.j.Opts.NoStale && f.j.Refreshing == nil && it.FailedLately(now):
		return it, measure.FailedLoad // another load failed a moment ago
	}
	return nil, measure.NotStale
}

// flightsOf returns the flights of a cache.
func flightsOf(v *resident.View) *calls.Group[*flight, outcome] {
	return v.Flights.(*calls.Group[*flight, outcome])
}

// Open makes a cache for what c describes, and returns the view of its tenant.
func Open(s *resident.Store, t *resident.Core, k resident.Kind, c *resident.Spec) (*resident.View, error) {
	s.Flights = calls.NewGroup[*flight, outcome](t.Config.MaxFlights)
	return s.Open(t, k, c)
}

// refreshPause is how long stale hits start no refresh after one was refused or was found
// running elsewhere.
const refreshPause = 100 * time.Millisecond

// takeRefresh reserves room for a background refresh. It reports false if the policy's or the
// Tiers' limit is reached.
func takeRefresh(j *resident.Job) bool {
	running, most := j.View.Refreshes, int64(j.Policy.MaxRefreshes)
	if n := running.Add(1); most > 0 && n > most || !j.Core.Refresh.TryAcquire(1) {
		running.Add(-1)
		return false
	}
	return true
}

func returnRefresh(j *resident.Job) {
	j.Core.Refresh.Release(1)
	j.View.Refreshes.Add(-1)
}

// refreshed counts the outcome of a background refresh.
func refreshed(j *resident.Job, out *outcome) {
	now := j.Core.Now()
	switch {
	case out.panicked != nil:
		j.View.Counts.Inc(measure.RefreshFailed)
		// The stack, but not the panic's value: that may be a cached value.
		j.Core.Log.Error("cache: a refresh panicked", "namespace", j.View.Space.Namespace, "stack", j.Core.Faults.Stack(out.panicked))
		j.Refreshing.Pause(now, j.Policy.Throttle)
	case out.again:
		j.View.Counts.Inc(measure.RefreshElsewhere)
		j.Refreshing.Pause(now, refreshPause)
	case errors.Is(out.err, fault.ErrDeclined):
		j.View.Counts.Inc(measure.RefreshDeclined)
		j.Refreshing.Pause(now, j.Policy.Throttle)
	case out.it == nil || out.it.Remembered():
		j.View.Counts.Inc(measure.RefreshFailed)
		j.Refreshing.LoadFailed(now, j.Policy.Throttle)
	case out.src == resident.Load:
		j.View.Counts.Inc(measure.RefreshOK)
		if out.ofExpired { // it was not stored
			j.Refreshing.Pause(now, max(j.Policy.ReplicaLag, j.Policy.Throttle))
		}
	}
}
