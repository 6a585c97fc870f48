package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// GetMany returns the values of keys: from this process, from the remote tier
// in one round trip per node, and the rest by LoadMany in chunks of MaxBatch,
// or by Load side by side. Keys that do not exist are not in the map; that is
// no error. Each key is merged with whatever else fetches or loads it.
//
// A partial result is not a failure: the map holds every value there is, and
// when some keys failed the error is a [*BatchError] that names them. The map
// is never nil and belongs to the caller; keys may repeat and are not kept.
func (c Cache[K, V]) GetMany(ctx context.Context, keys []K, opts ...Option) (map[K]V, error) {
	out := make(map[K]V, len(keys))
	o, err := collect(opts)
	if c.s == nil {
		return out, errZero("get many")
	}
	if err != nil {
		return out, &Error{Op: "get many", Key: c.v.name, Err: err}
	}
	errs := make(map[K]error)
	add := func(k K, v V, err error) {
		switch {
		case err == nil:
			out[k] = v
		case !errors.Is(err, ErrNotFound):
			errs[k] = err
		}
	}
	if !o.anew {
		c.s.t.confirm(ctx, o.within())
	}
	var rest []*job[K, V]
	seen := make(map[K]struct{}, len(keys))
	for _, k := range keys {
		if _, again := seen[k]; again {
			continue
		}
		seen[k] = struct{}{}
		if r, ok, err := c.fromLocal(ctx, k, nil, o); ok {
			add(k, r.Value, err)
		} else if j, err := c.job(ctx, "get many", k, nil, o); err != nil {
			add(k, r.Value, err)
		} else if err := ctx.Err(); err != nil {
			add(k, r.Value, j.fail(err))
		} else {
			rest = append(rest, j)
		}
	}
	if len(rest) > 0 {
		c.getRest(ctx, rest, add)
	}
	if len(errs) > 0 {
		return out, &BatchError[K]{Errs: errs}
	}
	return out, nil
}

// getRest joins or leads one flight per key and waits for all of them.
func (c Cache[K, V]) getRest(ctx context.Context, jobs []*job[K, V], add func(K, V, error)) {
	calls := make([]*call[K, V], len(jobs))
	leads := make([]bool, len(jobs))
	var led []*job[K, V]
	for i, j := range jobs {
		calls[i], leads[i] = j.join(j.p.Off)
		if leads[i] {
			j.call = calls[i]
			led = append(led, j)
		} else if calls[i] != nil {
			j.joined(ctx, calls[i])
		}
	}
	if len(led) > 0 {
		(&batch[K, V]{Cache: c, jobs: led}).launch(ctx)
	}
	var panicked *PanicError
	for i, j := range jobs {
		if calls[i] == nil {
			add(j.k, *new(V), j.fail(ErrOverloaded))
			continue
		}
		out := j.wait(ctx, calls[i])
		calls[i].Leave()
		switch {
		case out.panicked != nil:
			panicked = out.panicked
		case leads[i] || j.accepts(out):
			r, err := j.deliver(ctx, out, leads[i])
			add(j.k, r.Value, err)
		default:
			r, err := c.read(ctx, j.op, j.k, nil, j.o)
			add(j.k, r.Value, err)
		}
	}
	if panicked != nil { // after every call was left
		panic(panicked)
	}
}

// batch is the flights that one GetMany leads. They share a goroutine for as
// long as they take the same way; a key that has to wait for another process,
// or to be loaded again, goes on by itself.
type batch[K comparable, V any] struct {
	Cache[K, V]
	jobs []*job[K, V]
	ctx  context.Context
}

func (b *batch[K, V]) launch(ctx context.Context) {
	t := b.s.t
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	run := &running{flight.CancelFunc(cancel)}
	if !t.work.begin(run) {
		cancel()
		for _, j := range b.jobs {
			j.ended(outcome[K, V]{err: ErrClosed})
		}
		return
	}
	b.ctx = ctx
	abandon := afterAll(len(b.jobs), cancel)
	for _, j := range b.jobs {
		j.ctx, j.outer = ctx, Filling(ctx)
		j.call.OnAbandon(abandon)
	}
	go func() {
		defer t.work.end(run)
		defer cancel()
		orderly := false
		defer func() {
			if !orderly {
				p := recover()
				for _, j := range b.jobs {
					j.fallen(p)
				}
			}
		}()
		b.run()
		orderly = true
	}()
}

// afterAll returns what cancels once n calls have been abandoned.
func afterAll(n int, cancel func()) flight.Canceler {
	left := new(atomic.Int64)
	left.Store(int64(n))
	return flight.CancelFunc(func() {
		if left.Add(-1) == 0 {
			cancel()
		}
	})
}

func (b *batch[K, V]) run() {
	jobs := b.jobs
	if b.s.t.remote != nil && !jobs[0].p.Off {
		jobs = b.claim(b.look(jobs))
	}
	var load []*job[K, V]
	for _, j := range jobs {
		if out, ok := j.fallbackCut(); ok {
			j.ended(out)
		} else if j.loader == nil {
			j.release()
			j.ended(outcome[K, V]{err: ErrMiss})
		} else if err := b.ctx.Err(); err != nil { // the callers left while the tier was asked
			j.release()
			j.ended(outcome[K, V]{err: err})
		} else {
			load = append(load, j)
		}
	}
	if b.s.cfg.LoadMany == nil {
		for _, j := range load {
			j.launch(b.ctx)
		}
		return
	}
	var wg sync.WaitGroup
	for n := b.s.cfg.MaxBatch; len(load) > 0; load = load[min(n, len(load)):] {
		chunk := load[:min(n, len(load))]
		wg.Go(func() { b.loadChunk(chunk) })
	}
	wg.Wait()
}

// fallbackCut is fallback when the remote tier could not be asked.
func (j *job[K, V]) fallbackCut() (outcome[K, V], bool) {
	if !j.cut {
		return outcome[K, V]{}, false
	}
	return j.fallback()
}

// look asks the remote tier for all keys at once and ends what it can. It
// returns the jobs that need a claim and those that go on without one.
func (b *batch[K, V]) look(jobs []*job[K, V]) (claim, free []*job[K, V]) {
	texts := make([]string, len(jobs))
	for i, j := range jobs {
		texts[i] = j.text
	}
	var cells [][]byte
	var mark invalidate.Mark
	err := errUnconfirmed
	if jobs[0].canJudge(b.ctx) {
		mark = b.s.t.fences.Capture()
		cells, err = b.s.t.remote.getMany(b.ctx, jobs[0].p.RemoteTimeout, texts)
	}
	for i, j := range jobs {
		if i >= len(cells) || (err != nil && cells[i] == nil) {
			j.cut = true
			free = append(free, j)
			continue
		}
		f, unjudged := j.assess(b.ctx, cells[i], mark)
		if unjudged != nil {
			j.cut = true
			free = append(free, j)
			continue
		}
		out, ok := j.serve(b.ctx, f)
		if !ok {
			out, ok = j.fallback()
		}
		switch {
		case ok:
			j.ended(out)
		case j.loader == nil:
			j.ended(outcome[K, V]{err: ErrMiss})
		case f.verdict == held:
			j.held = true
			free = append(free, j)
		case f.verdict == leased || f.short:
			j.first = &f
			j.launch(b.ctx)
		default:
			j.first = &f
			claim = append(claim, j)
		}
	}
	return claim, free
}

// claim claims all keys at once. A job whose claim is refused goes on alone.
func (b *batch[K, V]) claim(jobs, free []*job[K, V]) []*job[K, V] {
	if len(jobs) == 0 {
		return free
	}
	texts, claims := make([]string, len(jobs)), make([]tier.Claim, len(jobs))
	for i, j := range jobs {
		texts[i] = j.text
		claims[i] = tier.Claim{
			Seen: j.first.nonce, Nonce: tier.NewNonce(), Lease: b.s.t.cfg.ClaimTTL,
			Refresh: j.first.verdict == usable,
		}
	}
	mark := b.s.t.fences.Capture()
	got, err := b.s.t.remote.claimMany(b.ctx, jobs[0].p.RemoteTimeout, texts, claims)
	for i, j := range jobs {
		switch {
		case i < len(got) && got[i].Granted:
			j.claimed, j.claim, j.first = true, claims[i], nil
			free = append(free, j)
		case err != nil:
			j.cut = true
			free = append(free, j)
		default:
			j.first, j.claim = nil, claims[i]
			if len(got[i].Cell) > 0 {
				if f, err := j.assess(b.ctx, got[i].Cell, mark); err == nil {
					j.first = &f
				}
			}
			j.launch(b.ctx)
		}
	}
	return free
}
