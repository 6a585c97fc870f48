package cache

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// loadChunk loads a chunk of keys in one call and stores what it brought.
func (b *batch[K, V]) loadChunk(jobs []*job[K, V]) {
	orderly := false
	defer func() {
		if !orderly {
			p := recover()
			for _, j := range jobs {
				j.fallen(p)
			}
		}
	}()
	// The chunk's load ends when nobody waits for any of its keys, whatever
	// becomes of the batch's others.
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	abandon := afterAll(len(jobs), cancel)
	for _, j := range jobs {
		j.ctx = ctx
		j.call.OnAbandon(abandon)
	}
	as := b.attempt(jobs)
	var fills []*pending[K, V]
	for i, j := range jobs {
		j.v.counts.inc(misses)
		a := as[i]
		ttl := time.Duration(0)
		if a.it != nil {
			ttl = j.ttlOf(a)
		}
		switch {
		case a.overtaken && j.wantsMore(a):
			j.release()
			if it := j.here(); it != nil {
				j.ended(outcome[K, V]{it: it, src: Local})
				continue
			}
			j.v.counts.inc(reloads)
			j.tries = 1 // the batch's
			j.launch(b.ctx)
		case j.claimed && ttl > 0 && j.admits(a):
			a.it.live(j.t.now(), j.lifetime(a.it, ttl, a.facts.stale))
			if f, ok := j.fillOf(a.it, a.mark); ok {
				fills = append(fills, &pending[K, V]{j: j, it: a.it, mark: a.mark, fill: f})
			} else {
				j.ended(outcome[K, V]{it: a.it, src: Load, mark: a.mark})
			}
		default:
			j.settle(a)
		}
	}
	b.fill(fills)
	orderly = true
}

// attempt runs LoadMany once for all jobs, as job.attempt runs Load for one.
func (b *batch[K, V]) attempt(jobs []*job[K, V]) []attempt[K, V] {
	as := make([]attempt[K, V], len(jobs))
	var many attempt[K, V]
	for _, j := range jobs[1:] {
		j.lent.onOpen(jobs[0].lent.open)
	}
	l := new(load)
	if many.err = jobs[0].enter(l); many.err == nil {
		l.watch(freezeAll(jobs))
		for _, j := range jobs {
			l.also = append(l.also, j.text)
			if j.claimed {
				defer j.keepClaim(l.ctx)()
			}
		}
		func() {
			defer func() { many.late = jobs[0].leave(l, many.err, many.panicked) }()
			b.invoke(l.ctx, jobs, as, &many, &l.Fill)
		}()
	}
	for i := range as {
		as[i].late = many.late
		if as[i].it == nil && as[i].err == nil && as[i].panicked == nil {
			as[i].err, as[i].panicked = many.err, many.panicked
		}
	}
	return as
}

func (b *batch[K, V]) invoke(ctx context.Context, jobs []*job[K, V], as []attempt[K, V], many *attempt[K, V], f *Fill) {
	keys, tags := make([]K, len(jobs)), make([][]string, len(jobs))
	for i, j := range jobs {
		keys[i] = j.k
	}
	many.mark = b.s.t.fences.Capture()
	begun := b.s.t.now()
	var got map[K]V
	many.guard(func() {
		got, many.err = b.s.cfg.LoadMany(ctx, keys)
		for i, j := range jobs {
			if v, ok := got[j.k]; ok && b.s.cfg.Tags != nil {
				tags[i] = b.s.cfg.Tags(j.k, v)
			}
		}
	})
	many.took = time.Duration(b.s.t.now() - begun)
	many.facts = f.close()
	if many.panicked != nil {
		return
	}
	for i, j := range jobs {
		v, ok := got[j.k]
		err := many.err
		if ok {
			err = nil
		} else if err == nil {
			err = ErrNotFound
		}
		as[i].mark, as[i].facts, as[i].took = many.mark, many.facts, many.took
		j.conclude(&as[i], v, tags[i], err, previous[K, V]{}, begun)
	}
}

// pending is a fill that waits for the others of its batch.
type pending[K comparable, V any] struct {
	j    *job[K, V]
	it   *item[K, V]
	mark invalidate.Mark
	fill tier.Fill
}

// fill fills all cells at once and ends the flights.
func (b *batch[K, V]) fill(fills []*pending[K, V]) {
	if len(fills) == 0 {
		return
	}
	texts, fs := make([]string, len(fills)), make([]tier.Fill, len(fills))
	for i, p := range fills {
		texts[i], fs[i] = p.j.text, p.fill
	}
	ctx := context.WithoutCancel(b.ctx)
	ok, err := b.s.t.remote.fillMany(ctx, fills[0].j.p.RemoteTimeout, texts, fs)
	for i, p := range fills {
		filled := i < len(ok) && ok[i]
		if filled {
			p.j.filled(p.it, true, nil)
		} else {
			p.j.filled(p.it, false, err)
		}
		p.j.ended(outcome[K, V]{it: p.it, src: Load, mark: p.mark})
	}
}
