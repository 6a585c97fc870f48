package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/redistest"
)

// loss is a way in which the log loses its end.
type loss struct {
	what string
	fork func() // from now on writes are taken that will be lost
	swap func() // they are lost
	heal func() // nil: nothing is to be done before the next fault
}

// losing is a fault that loses writes which were acknowledged. A worker that has seen
// them tells the log as soon as it comes back: it is ahead of it. Such a run proves
// little. So the workers that have seen them are kept away for a while, and the first
// to come is in turn
//
//   - a worker that was cut off before, with values in its memory;
//   - a process that started afterwards, and reads what the others have left in Redis;
//   - any worker, all at once.
//
// Only the server itself can tell the first two that something is missing.
func losing(begin func(*Rig) loss) func(context.Context, *Rig) string {
	return func(ctx context.Context, r *Rig) string {
		l := begin(r)
		first := []func(context.Context, loss) string{r.cutOffFirst, r.newFirst, r.anyFirst}
		found := first[r.losses%len(first)](ctx, l)
		r.losses++
		if l.heal != nil {
			l.heal()
		}
		return l.what + found
	}
}

// anyFirst loses writes under the workers' hands.
func (r *Rig) anyFirst(ctx context.Context, l loss) string {
	l.fork()
	r.sleep(ctx, r.lossTime())
	l.swap()
	reconnect(r.proxies...)
	return ""
}

// cutOffFirst loses writes and lets a worker find it that has slept since before.
func (r *Rig) cutOffFirst(ctx context.Context, l loss) string {
	i, others := r.split()
	r.hold([]int{i})
	r.sleep(ctx, settle)
	l.fork()
	r.sleep(ctx, r.lossTime())
	r.away(others)
	l.swap()
	if r.proxies != nil {
		reconnect(r.proxies[i])
	}
	r.check(r.crew.Resume(i))
	r.sleep(ctx, r.aloneTime())
	r.back(others)
	return fmt.Sprintf(", found by worker %d, which has seen nothing of what was lost", i)
}

// newFirst loses writes and lets a process find it that is new in the place of a worker.
func (r *Rig) newFirst(ctx context.Context, l loss) string {
	i, others := r.split()
	l.fork()
	r.sleep(ctx, r.lossTime())
	r.away(others)
	r.check(r.crew.Crash([]int{i}, l.swap))
	r.sleep(ctx, r.aloneTime())
	r.back(others)
	return fmt.Sprintf(", found by worker %d, which is new", i)
}

// settle is for what was written before to reach a replica.
const settle = 50 * time.Millisecond

// lossTime is for how long writes are taken that will be lost.
func (r *Rig) lossTime() time.Duration {
	if b := r.fault.bound; b > 0 {
		return r.between(b/20, b/10)
	}
	return r.between(300*time.Millisecond, 1500*time.Millisecond)
}

// aloneTime is for how long the first worker is alone: under a lease of its own, for
// longer than the bound. Where the guarantee needs a worker that knows what was lost,
// that one comes within the bound. The first worker appends more records meanwhile than
// were lost, or the other would be ahead of the log.
func (r *Rig) aloneTime() time.Duration {
	if b := r.fault.bound; b > 0 {
		return r.between(b/3, b/2)
	}
	return r.cfg.Bound + r.between(300*time.Millisecond, 1500*time.Millisecond)
}

// split draws one worker, and returns the others.
func (r *Rig) split() (i int, others []int) {
	i = r.rng.IntN(r.crew.Len())
	for n := range r.crew.Len() {
		if n != i {
			others = append(others, n)
		}
	}
	return i, others
}

// away keeps workers from the log: by their proxies, or by a pause where clients find
// the servers without them.
func (r *Rig) away(workers []int) {
	for _, i := range workers {
		r.gone[i] = true
	}
	if r.proxies == nil {
		r.hold(workers)
		return
	}
	for _, i := range workers {
		r.proxies[i].BlackHole()
	}
}

// back ends away.
func (r *Rig) back(workers []int) {
	for _, i := range workers {
		delete(r.gone, i)
		if r.proxies != nil {
			reconnect(r.proxies[i])
		} else {
			r.check(r.crew.Resume(i))
		}
	}
}

// restart loses the whole log while the cells survive, and every process that knew
// anything of it. Before that it makes a few epochs, so that the new log begins with a
// lower number than the cells have.
func restart(ctx context.Context, r *Rig) string {
	for range 3 {
		r.primary.Do(r.t, "DEL", r.logKey("m"))
		r.sleep(ctx, max(short, r.cfg.Bound/2)) // until a worker has noticed
	}
	r.sleep(ctx, r.lossTime()) // cells of this epoch
	all := make([]int, r.crew.Len())
	for i := range all {
		all[i] = i
	}
	r.check(r.crew.Crash(all, func() {
		for _, k := range logKeyNames {
			r.primary.Do(r.t, "DEL", r.logKey(k))
		}
	}))
	r.sleep(ctx, r.aloneTime())
	return "loss of the log's keys and of all processes"
}

// reconnect ends connections to a server that is no more.
func reconnect(proxies ...*redistest.Proxy) {
	for _, p := range proxies {
		p.Drop()
		p.Pass()
	}
}
