package engine

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/failure"
	"github.com/twofold-go/twofold/internal/filling"
	"github.com/twofold-go/twofold/internal/measure"
)

// ask calls the loader once. It returns measure.AuditsSame with an answer, and otherwise the audit's outcome.
func (a *audit) ask() (got *entry.Entry, why measure.Stat) {
	t := a.j.t
	defer t.audits.running.Add(-1)
	if t.audits.running.Add(1) > t.audits.most || !t.loads.TryAcquire(1) {
		return got, measure.AuditsSkipped
	}
	defer t.loads.Release(1)
	ctx, cancel := a.context(a.j.p.LoadTimeout)
	defer cancel()
	fill := &filling.Fill{Audit: true}
	fill.Open(nil, &t.fills, a.j.v.Space.Tenant, a.j.FullKey())
	ctx = fill.Within(ctx)
	end := func(bool) {}
	if t.seen.Tracing() { // like a refresh, it outlives the call that caused it
		ctx, end = t.seen.LoadStart(ctx, a.j.v.counts, "cache.audit", true)
	}
	a.j.v.counts.Inc(measure.Loads)
	var at attempt
	var err error
	begun := t.now()
	at.guard(t, func() { got, err = a.load(ctx) })
	t.seen.LoadEnd(ctx, a.j.v.counts, time.Duration(t.now()-begun), failure.Failed(err, at.panicked))
	end(failure.Failed(err, at.panicked))
	f := fill.Close()
	switch {
	case at.panicked != nil:
		a.j.v.counts.Inc(measure.LoadPanics)
		return got, measure.AuditsFailed
	case err != nil, ctx.Err() != nil:
		return got, measure.AuditsFailed
	case f.Unstored, f.Unfresh, f.Worn, f.Held: // the loader, or a part, says that the value is not for keeping
		return got, measure.AuditsFailed
	}
	return got, measure.AuditsSame
}

// load calls the user's code. The entry that it returns is stored nowhere.
func (a *audit) load(ctx context.Context) (*entry.Entry, error) {
	j := &a.j
	e := j.take(j.t.fences.Capture())
	var err error
	if j.many {
		var errs []error
		errs, _ = j.v.kind.LoadMany(ctx, []*entry.Entry{e})
		err = errs[0]
	} else {
		err = j.v.kind.Load(ctx, j.loader, e)
	}
	switch {
	case errors.Is(err, failure.ErrNotFound):
		e.Own().Err = err
	case err != nil:
		return nil, err
	default:
		j.v.kind.Clone(e) // the loader may keep the value and change it
	}
	return e, nil
}

func (a *audit) equal(x, y *entry.Entry) bool {
	if x.Err != nil || y.Err != nil {
		return x.Err != nil && y.Err != nil
	}
	return a.j.v.equal(x, y)
}

// equal compares two values. A codec may write equal maps in different orders, and a value that was
// read from the remote tier has lost what the codec leaves out. So it compares what a reader of the
// remote tier would get.
func (s *Store) equal(x, y *entry.Entry) bool {
	if same, known := s.kind.Equal(x, y); known {
		return same
	}
	v, w := s.kind.Value(x), s.kind.Value(y)
	if s.far == nil {
		return reflect.DeepEqual(v, w)
	}
	a, errA := codec.MarshalWithin(s.Codec, reflect.ValueOf(v).Elem().Interface(), s.ValueType, maxAudited)
	b, errB := codec.MarshalWithin(s.Codec, reflect.ValueOf(w).Elem().Interface(), s.ValueType, maxAudited)
	if errA != nil || errB != nil {
		return reflect.DeepEqual(v, w)
	}
	if bytes.Equal(a, b) {
		return true
	}
	backV, backW := reflect.New(s.ValueType).Interface(), reflect.New(s.ValueType).Interface()
	return s.Codec.Unmarshal(a, backV) == nil && s.Codec.Unmarshal(b, backW) == nil && reflect.DeepEqual(backV, backW)
}

// maxAudited bounds the memory of a comparison. Values that encode to more are compared in place.
const maxAudited = 64 << 20
