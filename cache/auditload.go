package cache

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/twofold-go/twofold/codec"
)

// ask calls the loader once. It returns auditsSame with an answer, and otherwise the audit's outcome.
func (a *audit) ask() (got *entry, why stat) {
	t := a.j.t
	defer t.audits.running.Add(-1)
	if t.audits.running.Add(1) > t.audits.most || !t.loads.TryAcquire(1) {
		return got, auditsSkipped
	}
	defer t.loads.Release(1)
	ctx, cancel := a.context(a.j.p.LoadTimeout)
	defer cancel()
	fill := &Fill{t: t, text: a.j.FullKey(), tenant: a.j.v.space.Tenant, vouched: never, terms: unsaid, audit: true}
	ctx, end := a.span(context.WithValue(ctx, fillKey{}, fill))
	a.j.v.counts.inc(loads)
	var at attempt
	var err error
	begun := t.now()
	at.guard(func() { got, err = a.load(ctx) })
	t.seen.loadEnd(ctx, a.j.v, time.Duration(t.now()-begun), err, at.panicked)
	end(isFailure(err, at.panicked))
	f := fill.close()
	switch {
	case at.panicked != nil:
		a.j.v.counts.inc(loadPanics)
		return got, auditsFailed
	case err != nil, ctx.Err() != nil:
		return got, auditsFailed
	case f.noStore, f.unfresh, f.worn, f.held: // the loader, or a part, says that the value is not for keeping
		return got, auditsFailed
	}
	return got, auditsSame
}

// load calls the user's code. The entry that it returns is stored nowhere.
func (a *audit) load(ctx context.Context) (*entry, error) {
	j := &a.j
	e := j.take(j.t.fences.Capture())
	var err error
	if j.many {
		var errs []error
		errs, _ = j.v.kind.LoadMany(ctx, []*entry{e})
		err = errs[0]
	} else {
		err = j.v.kind.Load(ctx, j.loader, e)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		e.own().err = err
	case err != nil:
		return nil, err
	default:
		j.v.kind.Clone(e) // the loader may keep the value and change it
	}
	return e, nil
}

func (a *audit) equal(x, y *entry) bool {
	if x.err != nil || y.err != nil {
		return x.err != nil && y.err != nil
	}
	return a.j.v.equal(x, y)
}

// equal compares two values. A codec may write equal maps in different orders, and a value that was
// read from the remote tier has lost what the codec leaves out. So it compares what a reader of the
// remote tier would get.
func (s *store) equal(x, y *entry) bool {
	if same, known := s.kind.Equal(x, y); known {
		return same
	}
	v, w := s.kind.Value(x), s.kind.Value(y)
	if s.far == nil {
		return reflect.DeepEqual(v, w)
	}
	a, errA := codec.MarshalWithin(s.codec, reflect.ValueOf(v).Elem().Interface(), s.valueType, maxAudited)
	b, errB := codec.MarshalWithin(s.codec, reflect.ValueOf(w).Elem().Interface(), s.valueType, maxAudited)
	if errA != nil || errB != nil {
		return reflect.DeepEqual(v, w)
	}
	if bytes.Equal(a, b) {
		return true
	}
	backV, backW := reflect.New(s.valueType).Interface(), reflect.New(s.valueType).Interface()
	return s.codec.Unmarshal(a, backV) == nil && s.codec.Unmarshal(b, backW) == nil && reflect.DeepEqual(backV, backW)
}

// maxAudited bounds the memory of a comparison. Values that encode to more are compared in place.
const maxAudited = 64 << 20
