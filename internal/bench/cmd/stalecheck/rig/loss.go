package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// loss is a way in which the log loses its end.
type loss struct {
	what string
	fork func() // begins the time whose writes will be lost
	swap func() // loses these writes
	heal func() // nil: there is nothing to heal

	brief bool // few writes are lost: the swap must come soon after the fork
}

// losing is a fault that loses acknowledged writes. A worker that has seen these writes is ahead of
// the log, and reports that as soon as it comes back. Such a run proves little. So the workers that
// have seen them are kept away for a while. The first to use the log again is in turn:
//
//   - a worker that was cut off before, with values in its memory;
//   - a process that started afterwards, and reads what the others have left in Redis;
//   - any worker: all come back together.
//
// Only the server itself can tell the first two that something is missing.
func losing(begin func(*Rig) loss) func(context.Context, *Rig) string {
	return func(ctx context.Context, r *Rig) string {
		l := begin(r)
		first := []func(context.Context, loss) string{r.cutOffFirst, r.newFirst, r.anyFirst}
		found := first[r.turn()%len(first)](ctx, l)
		if l.heal != nil {
			l.heal()
		}
		return l.what + found
	}
}

// anyFirst loses writes while the workers run.
func (r *Rig) anyFirst(ctx context.Context, l loss) string {
	l.fork()
	proc.Sleep(ctx, r.lossTime(l))
	l.swap()
	reconnect(r.proxies...)
	return ""
}

// cutOffFirst loses writes, and lets a worker come first that was paused since before.
func (r *Rig) cutOffFirst(ctx context.Context, l loss) string {
	i, others := r.split()
	r.hold([]int{i})
	proc.Sleep(ctx, settle)
	l.fork()
	proc.Sleep(ctx, r.lossTime(l))
	r.away(others, (*redistest.Proxy).BlackHole)
	l.swap()
	if r.proxies != nil {
		reconnect(r.proxies[i])
	}
	r.workers[i].Resume()
	proc.Sleep(ctx, r.aloneTime())
	r.back(others)
	return fmt.Sprintf(", found by worker %d, which has seen nothing of what was lost", i)
}

// newFirst loses writes, and lets a new process come first in the place of a worker.
func (r *Rig) newFirst(ctx context.Context, l loss) string {
	i, others := r.split()
	l.fork()
	proc.Sleep(ctx, r.lossTime(l))
	r.away(others, (*redistest.Proxy).BlackHole)
	r.replace([]int{i}, l.swap)
	proc.Sleep(ctx, r.aloneTime())
	r.back(others)
	return fmt.Sprintf(", found by worker %d, which is new", i)
}

// settle is the time for earlier writes to reach a replica.
const settle = 50 * time.Millisecond

// lossTime returns for how long writes are accepted that will be lost.
func (r *Rig) lossTime(l loss) time.Duration {
	if l.brief {
		return r.between(short/2, short)
	}
	if b := r.fault.bound; b > 0 {
		return r.between(b/20, b/10)
	}
	return r.between(300*time.Millisecond, 1500*time.Millisecond)
}

// aloneTime returns for how long the first worker is alone. That is longer than the bound, so the
// worker runs under its own lease. If the guarantee needs a worker that knows the lost writes, that
// worker comes within the bound. Until then the first worker must append more records than were
// lost; otherwise the other worker would be ahead of the log.
func (r *Rig) aloneTime() time.Duration {
	if b := r.fault.bound; b > 0 {
		return r.between(b/3, b/2)
	}
	return r.cfg.Bound + r.between(300*time.Millisecond, 1500*time.Millisecond)
}

// split draws one worker, and returns it and the others.
func (r *Rig) split() (i int, others []int) {
	i = r.any()
	for n := range r.cfg.Workers {
		if n != i {
			others = append(others, n)
		}
	}
	return i, others
}

// away cuts workers off from the log, in one way by their proxies, or by a pause if clients bypass
// the proxies.
func (r *Rig) away(workers []int, cut func(*redistest.Proxy)) {
	for _, i := range workers {
		r.gone[i] = true
	}
	if r.proxies == nil {
		r.hold(workers)
		return
	}
	for _, i := range workers {
		cut(r.proxies[i])
	}
}

// back ends away.
func (r *Rig) back(workers []int) {
	for _, i := range workers {
		delete(r.gone, i)
		if r.proxies != nil {
			reconnect(r.proxies[i])
		} else {
			r.workers[i].Resume()
		}
	}
}

// restart loses the whole log and every process that knew it, while the cells survive. Before that
// it makes a few epochs, so the new log begins with a lower epoch number than the cells have.
func restart(ctx context.Context, r *Rig) string {
	for range 3 {
		r.primary.Do(r.t, "DEL", r.logKey("m"))
		proc.Sleep(ctx, max(short, r.cfg.Bound/2)) // until a worker has noticed
	}
	proc.Sleep(ctx, r.lossTime(loss{})) // cells of this epoch
	r.replace(r.all(), func() {
		for _, k := range logKeyNames {
			r.primary.Do(r.t, "DEL", r.logKey(k))
		}
	})
	proc.Sleep(ctx, r.aloneTime())
	return "loss of the log's keys and of all processes"
}

// reconnect ends connections to a server that no longer exists.
func reconnect(proxies ...*redistest.Proxy) {
	for _, p := range proxies {
		p.Drop()
		p.Pass()
	}
}
