package engine

import (
	"bytes"
	"context"
	"errors"
	"reflect"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/failure"
	"github.com/twofold-go/twofold/internal/filling"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/store"
)

// ask calls the loader once. It returns measure.AuditsSame with an answer, and otherwise the audit's outcome.
func (a *audit) ask() (got *entry.Entry, why measure.Stat) {
	t := a.j.Core
	defer t.Audits.Running.Add(-1)
	if t.Audits.Running.Add(1) > t.Audits.Most || !t.Loads.TryAcquire(1) {
		return got, measure.AuditsSkipped
	}
	turn := new(filling.Turn)
	turn.Take(t.Loads)
	defer turn.Leave()
	ctx, cancel := a.context(a.j.Policy.LoadTimeout)
	defer cancel()
	fill := &filling.Fill{Audit: true, Turn: turn}
	fill.Open(nil, &t.Fills, a.j.View.Space.Tenant, a.j.FullKey())
	ctx = fill.Within(ctx)
	end := func(bool) {}
	if t.Seen.Tracing() { // like a refresh, it outlives the call that caused it
		ctx, end = t.Seen.LoadStart(ctx, a.j.View.Counts, "cache.audit", true)
	}
	a.j.View.Counts.Inc(measure.Loads)
	var at attempt
	var err error
	defer func() { // also after a Goexit
		t.Seen.LoadEnd(ctx, a.j.View.Counts, at.took, at.failed)
		end(at.failed)
	}()
	at.guard(t, fill, func() error {
		got, err = a.load(ctx)
		return err
	})
	f := &at.facts
	switch {
	case at.panicked != nil:
		a.j.View.Counts.Inc(measure.LoadPanics)
		return got, measure.AuditsFailed
	case err != nil, ctx.Err() != nil:
		return got, measure.AuditsFailed
	case f.Unstored, f.NeverFresh, f.OfExpired: // the loader, or a part, says that the value is not for keeping
		return got, measure.AuditsFailed
	}
	return got, measure.AuditsSame
}

// load calls the user's code. The entry that it returns is stored nowhere.
func (a *audit) load(ctx context.Context) (*entry.Entry, error) {
	j := &a.j
	e := j.Take(j.Core.Fences.Capture())
	var err error
	if j.Many {
		var errs []error
		errs, _ = j.View.Kind.LoadMany(ctx, []*entry.Entry{e})
		err = errs[0]
	} else {
		err = j.View.Kind.Load(ctx, j.Loader, e)
	}
	switch {
	case errors.Is(err, failure.ErrNotFound):
		e.Writable().Err = err
	case err != nil:
		return nil, err
	default:
		j.View.Kind.Clone(e) // the loader may keep the value and change it
	}
	return e, nil
}

func (a *audit) equal(x, y *entry.Entry) bool {
	if x.Err != nil || y.Err != nil {
		return x.Err != nil && y.Err != nil
	}
	return sameValue(a.j.View.Store, x, y)
}

// sameValue compares two values. A codec may write equal maps in different orders, and a value that was
// read from the remote tier has lost what the codec leaves out. So it compares what a reader of the
// remote tier would get.
func sameValue(s *store.Store, x, y *entry.Entry) bool {
	if same, known := s.Kind.Equal(x, y); known {
		return same
	}
	v, w := s.Kind.Value(x), s.Kind.Value(y)
	if s.Far == nil {
		return reflect.DeepEqual(v, w)
	}
	a, errA := codec.MarshalWithin(s.Codec, reflect.ValueOf(v).Elem().Interface(), maxAudited)
	b, errB := codec.MarshalWithin(s.Codec, reflect.ValueOf(w).Elem().Interface(), maxAudited)
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
