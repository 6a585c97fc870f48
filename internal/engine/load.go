package engine

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/tier"
)

// load runs the loader for the party's runs: Load for one, LoadMany for all of them.
func (p *party) load() {
	var one [1]attempt
	as := one[:]
	if len(p.runs) > 1 {
		as = make([]attempt, len(p.runs))
	}
	for i := range p.runs {
		if r := &p.runs[i]; r.tries == 0 && r.f.j.Refreshing == nil {
			r.f.j.View.Counts.Inc(measure.Misses)
		}
	}
	// A loader may continue with a load after it was overtaken, so each load has its own memory.
	l, hook := &p.first, &p.late
	if l.ctx != nil {
		l, hook = new(load), new(late)
	}
	late := false
	if err := p.enter(l); err != nil {
		as[0].err = err
		for i := range as {
			as[i] = as[0]
		}
	} else {
		if late = p.attempt(l, hook, as); !late {
			hook.forget() // it will not run
		}
	}
	if late && errors.Is(l.Err(), context.DeadlineExceeded) {
		for i := range as { // the same error as its callers got
			if errors.Is(as[i].err, context.DeadlineExceeded) {
				as[i].err = fault.ErrLoadTimeout
			}
		}
	}
	for i := range p.runs {
		p.runs[i].span = l.span
		p.runs[i].keepOrDrop(p, &as[i], late)
	}
}

// attempt runs the loader once. It reports whether the load ran out of time, or all callers
// left.
func (p *party) attempt(l *load, hook *late, as []attempt) (late bool) {
	all, f := &as[0], p.runs[0].f
	hook.freeze(p.runs, l.span)
	l.Watch(hook)
	var got loaded
	defer func() { late = p.leave(l, all) }()
	defer p.keepClaims(l.ctx)()
	all.mark = f.j.Core.Fences.Capture() // right before the load
	// The lease is read after the mark. An invalidation between the two covers the value; a
	// later one overtakes the load.
	prev := replaced{lease: f.j.Core.Lease.Read()}
	if len(p.runs) == 1 {
		if prev.it = f.predecessor(p.runs[0].spare); prev.it != nil {
			l.SetPrevious(f.j.View.ValueOf(prev.it))
		}
	}
	for i := range p.runs {
		p.runs[i].f.loading.Store(true)
	}
	got.take(p.runs, all.mark)
	all.guard(f.j.Core, &l.Fill, func() error {
		got.run(l.ctx, p.runs)
		return got.err
	})
	for i := len(as) - 1; i >= 0; i-- { // the first one last: as[0] holds what they share
		as[i] = *all
		if all.panicked == nil {
			p.runs[i].f.conclude(&as[i], &got, i, prev)
		}
	}
	return late
}

// enter waits for a load's turn. Then it begins the load under the policy's LoadTimeout, with
// its Fill in the context.
func (p *party) enter(l *load) error {
	f := p.runs[0].f
	l.Begin(&p.Scope, f.j.Core.Base.Add(time.Duration(f.j.Core.Now())), f.j.Policy.LoadTimeout)
	l.ctx = &l.Scope
	if err := p.takeTurn(l); err != nil {
		l.Scope.Close()
		return err
	}
	l.Fill.Open(f.outer, &f.j.Core.Fills, f.j.View.Space.Tenant, f.j.FullKey())
	l.Behind = f.j.Refreshing != nil
	l.Carry(resident.ContextKey{}, &l.Fill)
	for i := range p.runs {
		if i > 0 {
			l.Also(p.runs[i].f.j.FullKey())
		}
		p.runs[i].f.fill.Store(&l.Fill)
		if f.j.Policy.Detached && !f.j.Policy.Off {
			p.runs[i].f.Pin()
		}
	}
	f.j.View.Counts.Inc(measure.Loads)
	if f.j.Core.Seen.Tracing() {
		name := "cache.load"
		if l.Behind {
			name = "cache.refresh"
		}
		l.ctx, l.traced = f.j.Core.Seen.LoadStart(l.ctx, f.j.View.Counts, name, l.Behind)
		l.span = measure.SpanOf(l.ctx)
	}
	return nil
}

// leave ends a load. It reports whether the load had run out of time, or all callers had left.
func (p *party) leave(l *load, a *attempt) (late bool) {
	f := p.runs[0].f
	l.Turn.Leave()
	late = l.Scope.Close()
	f.j.Core.Seen.LoadEnd(l.ctx, f.j.View.Counts, a.took, a.failed)
	if l.traced != nil {
		l.traced(a.failed)
	}
	return late
}

// takeTurn waits until fewer than MaxLoads loads run. A nested load runs in the outer load's turn. If it
// waited for its own turn, enough outer loads could hold every turn and wait for ever. The wait also ends
// when a load that has a turn joins one of the party's flights: that load would wait for this one, and this
// one for a turn, for ever. This load then runs in that load's turn, as if nested in it.
func (p *party) takeTurn(l *load) error {
	f := p.runs[0].f
	turns := f.j.Core.Loads
	if f.outer != nil && f.outer.Turn.Share() {
		l.Turn = f.outer.Turn
		return nil
	}
	ok := turns.TryAcquire(1)
	for !ok {
		wait, cancel := context.WithCancel(&l.Scope)
		for i := range p.runs {
			p.runs[i].f.lent.OnLend(cancel)
		}
		ok = turns.Acquire(wait, 1) == nil
		cancel()
		if l.Err() != nil || l.Overdue() {
			if ok { // other loads ran out of time at this moment and made room
				turns.Release(1)
			}
			if err := p.Err(); err != nil {
				return err
			}
			f.j.View.Counts.Inc(measure.LoadRefused)
			return fault.ErrOverloaded
		}
		for i := 0; i < len(p.runs) && !ok; i++ {
			if l.Turn = p.runs[i].f.lent.Share(); l.Turn != nil {
				return nil
			}
		}
	}
	l.turn.Take(turns)
	l.Turn = &l.turn
	return nil
}

// guard calls the user's code and closes the load's Fill, however the code ends. It keeps a panic. A
// Goexit continues to the end of the goroutine.
func (a *attempt) guard(t *resident.Core, fill *resident.Fill, f func() error) {
	resident.Loading.Add(1)
	a.begun, a.failed = t.Now(), true // unless f returns
	defer func() {
		resident.Loading.Add(-1)
		if p := recover(); p != nil {
			a.panicked = t.Faults.Panicked(p)
		}
		a.took = time.Duration(t.Now() - a.begun)
		a.facts = fill.Close()
	}()
	a.failed = fault.Failed(f())
}

// keepClaims renews the party's claims during a long load, until stop or LoadTimeout, also if all callers have
// left: a loader that ignores its context may still return a value. It does
// not renew a claim that an invalidation has removed; the fill of that claim fails.
func (p *party) keepClaims(ctx context.Context) (stop func() bool) {
	var keys []string
	var claims []tier.Claim
	for i := range p.runs {
		if r := &p.runs[i]; r.claimed {
			c := r.claim
			c.Seen = c.Nonce // renews the claim only if it still stands
			keys, claims = append(keys, r.f.j.FullKey()), append(claims, c)
		}
	}
	if len(keys) == 0 {
		return func() bool { return false }
	}
	j := &p.runs[0].f.j
	return renew(ctx, j, j.Core.Now()+int64(j.Policy.LoadTimeout), keys, claims)
}

// renew renews claims until stop, or until the given time.
//
//go:noinline
func renew(ctx context.Context, j *resident.Job, until int64, keys []string, claims []tier.Claim) (stop func() bool) {
	every, far, timeout := j.Core.Config.ClaimTTL/3, j.View.Counts.Far, j.Policy.RemoteTimeout
	var t *time.Timer
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t = time.AfterFunc(time.Hour, func() {
		if ctx.Err() != nil || j.Core.Now() >= until || j.Core.Work.Over() {
			return
		}
		got, err := far.ClaimMany(ctx, timeout, keys, claims)
		n := 0
		for i := range got {
			if got[i].Granted || err != nil {
				keys[n], claims[n] = keys[i], claims[i]
				n++
			}
		}
		if keys, claims = keys[:n], claims[:n]; n > 0 {
			t.Reset(every)
		}
	})
	t.Reset(every)
	return func() bool { cancel(); return t.Stop() }
}

func (l *late) freeze(runs []run, span *trace.SpanContext) {
	l.of = l.one[:0]
	for i := range runs {
		l.of = append(l.of, overdue{runs[i].f, runs[i].spare, runs[i].far, span})
	}
}

// forget releases the flights, because a stopped timer may keep the load in memory for a while.
func (l *late) forget() { *l = late{} }

// Late implements [scope.Hook].
func (l *late) Late(ctx context.Context) {
	for i := range l.of {
		l.of[i].end(ctx.Err())
	}
}

func (o *overdue) end(why error) {
	out := outcome{err: why, span: o.span}
	if !errors.Is(out.err, context.DeadlineExceeded) {
		o.f.end(out)
		return
	}
	out.err = fault.ErrLoadTimeout
	out.far = o.far
	o.f.failed(out, o.spare)
}
