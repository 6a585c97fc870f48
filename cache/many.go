package cache

import (
	"context"
	"errors"
	"slices"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// SetMany is [Cache.Set] for every key of vals, by three calls to the remote tier, each of
// one round trip per node for a thousand keys, and one append to the log. What Set promises
// of one key holds for each; the keys do not change together.
//
// When some keys failed the error is a [*BatchError] that names them; the others are set. An
// error of the whole call is an [*Error], and nothing was done. An empty map is no error. The
// map is not kept.
func (c Cache[K, V]) SetMany(ctx context.Context, vals map[K]V, opts ...Option) error {
	const op = "set many"
	o, err := collect(opts)
	switch unusable := c.unusable(op); {
	case unusable != nil:
		return unusable
	case err != nil:
		return &Error{Op: op, Key: c.v.name, Err: wrongUse(err)}
	}
	sets, errs := make([]setting[K, V], 0, len(vals)), map[K]error{}
	for k, v := range vals {
		j, err := c.change(op, k)
		if err != nil {
			errs[k] = err
			continue
		}
		j.o = o
		j.t.all.inc(invalidatedKeys)
		s := setting[K, V]{job: j}
		if s.it, s.payload, s.size, s.err = j.prepare(v); s.err == nil {
			s.err = ctx.Err() // as in Set
		}
		s.keep = s.err == nil && !j.p.Off
		sets = append(sets, s)
	}
	if len(sets) > 0 {
		setAll(ctx, sets)
	}
	for i := range sets {
		if s := &sets[i]; s.err != nil {
			errs[s.k] = s.fail(s.err)
		}
	}
	return KeyErrors(errs)
}

// DeleteMany invalidates keys, as [Cache.Delete] does one, in one step: the record of all
// is appended to the log at once. More scopes may be invalidated in the same step. Keys may
// repeat and are not kept.
//
// A key that cannot be spelled, or that could not be reached, is in the [*BatchError]; the
// others are invalidated. An error of the whole call is an [*Error]; when it is about more,
// nothing was done. No keys and no scopes are no error.
func (c Cache[K, V]) DeleteMany(ctx context.Context, keys []K, more ...invalidate.Scope) error {
	const op = "delete many"
	if err := c.unusable(op); err != nil {
		return err
	}
	if _, err := invalidate.NewRequest(more...); err != nil {
		return &Error{Op: op, Key: c.v.name, Err: err}
	}
	jobs, errs := make(map[K]*job[K, V], len(keys)), map[K]error{}
	scopes := make([]invalidate.Scope, 0, len(keys)+len(more))
	for _, k := range keys {
		if jobs[k] != nil || errs[k] != nil {
			continue
		}
		j, err := c.change(op, k)
		if err != nil {
			errs[k] = err
			continue
		}
		jobs[k] = j
		scopes = append(scopes, invalidate.Key(j.full))
	}
	if len(scopes)+len(more) == 0 {
		return KeyErrors(errs)
	}
	err := c.s.t.invalidate(ctx, c.v.policy().RemoteTimeout, append(scopes, more...)...)
	told := err == nil
	for k, j := range jobs {
		if failedFor(err, j.text) {
			errs[k], told = j.fail(err), true
		} else {
			j.t.local.Delete(j.at) // only to give the memory back
		}
	}
	if !told { // it is about more
		return errors.Join(&Error{Op: op, Key: c.v.name, Err: err}, KeyErrors(errs))
	}
	return KeyErrors(errs)
}

// unusable says why no call of the handle can do anything.
func (c Cache[K, V]) unusable(op string) error {
	switch {
	case c.s == nil:
		return errZero(op)
	case c.s.t.work.Closed():
		return &Error{Op: op, Key: c.v.name, Err: ErrClosed}
	case c.v.err != nil:
		return &Error{Op: op, Key: c.v.name, Err: c.v.err}
	}
	return nil
}

// failedFor reports whether an error of a call for many keys is about one of them.
func failedFor(err error, key string) bool {
	if e, ok := errors.AsType[*tier.KeysError](err); ok {
		return slices.Contains(e.Keys, key)
	}
	return err != nil
}

// setting is one value on its way.
type setting[K comparable, V any] struct {
	*job[K, V]
	it      *item[K, V]
	payload []byte
	size    int64
	keep    bool       // store the value; otherwise only invalidate
	claim   tier.Claim // of its cell
	claimed bool
	gone    bool // its cell holds no value any more
	written bool // its record is in the log, and applied here
	err     error
}

// setAll goes the way of job.set with many values, step by step. There is at least one.
func setAll[K comparable, V any](ctx context.Context, sets []setting[K, V]) {
	if t := sets[0].t; t.remote != nil || t.follower != nil {
		seizeAll(ctx, sets)
		// A cell that was claimed must stay; one that was not is to be removed. So if there
		// are both, they take two records.
		spreadAll(ctx, sets, true)
		spreadAll(ctx, sets, false)
		fillAll(ctx, sets)
	}
	for i := range sets {
		if s := &sets[i]; !s.claimed {
			s.err = errors.Join(s.err, s.replace(s.it, s.size, s.keep))
		}
	}
}

// seizeAll is job.seize for many.
func seizeAll[K comparable, V any](ctx context.Context, sets []setting[K, V]) {
	t := sets[0].t
	var waiting []*setting[K, V]
	for i := range sets {
		if s := &sets[i]; s.keep && t.remote != nil {
			s.claim = tier.Claim{Nonce: tier.NewNonce(), Lease: t.cfg.ClaimTTL}
			waiting = append(waiting, s)
		}
	}
	for try := 0; try < maxRefusals && len(waiting) > 0; try++ {
		keys, claims := make([]string, len(waiting)), make([]tier.Claim, len(waiting))
		for i, s := range waiting {
			keys[i], claims[i] = s.text, s.claim
		}
		got, err := t.remote.ClaimMany(ctx, sets[0].p.RemoteTimeout, keys, claims)
		var refused []*setting[K, V]
		for i, s := range waiting {
			switch {
			case got[i].Granted:
				s.claimed, s.gone = true, true
			case len(got[i].Cell) > tier.NonceSize:
				s.claim.Seen = tier.Nonce(got[i].Cell[1:])
				refused = append(refused, s)
			case err != nil: // there may be no answer
				s.err = unreached(err)
			default: // a hold; nothing is to be stored there
				s.gone = true
				s.v.counts.inc(fillNoStore)
			}
		}
		waiting = refused
	}
	for _, s := range waiting {
		s.v.counts.inc(fillLost)
	}
}

// spreadAll writes the record of the keys whose cells are gone, or of the others.
func spreadAll[K comparable, V any](ctx context.Context, sets []setting[K, V], gone bool) {
	r := invalidate.Request{Removed: gone}
	for i := range sets {
		if s := &sets[i]; s.gone == gone {
			r.Scopes = append(r.Scopes, invalidate.Key(s.full))
		}
	}
	if len(r.Scopes) == 0 {
		return
	}
	err := sets[0].t.spread(ctx, sets[0].p.RemoteTimeout, r)
	for i := range sets {
		if s := &sets[i]; s.gone == gone {
			if s.written = !failedFor(err, s.text); !s.written {
				s.err = errors.Join(err, s.err)
			}
		}
	}
}

// fillAll fills the claimed cells, behind the record, as job.fillClaimed does. Without a
// record the claims are given back, so that others need not wait for their leases to lapse.
// The caller's context is not asked: the records are written.
func fillAll[K comparable, V any](ctx context.Context, sets []setting[K, V]) {
	var keys []string
	var fills []tier.Fill
	var of []*setting[K, V]
	for i := range sets {
		s := &sets[i]
		if !s.claimed {
			continue
		}
		f := tier.Fill{Nonce: s.claim.Nonce}
		if s.written {
			var err error
			if f.Cell, f.TTL, err = s.freeze(s.it, s.payload, f.Nonce, s.date(s.it)); err != nil {
				s.err, s.written, s.keep, f.Cell = err, false, false, nil
			}
		}
		keys, fills, of = append(keys, s.text), append(fills, f), append(of, s)
	}
	if len(of) == 0 {
		return
	}
	ok, err := sets[0].t.remote.FillMany(context.WithoutCancel(ctx), sets[0].p.RemoteTimeout, keys, fills)
	for i, s := range of {
		switch {
		case !s.written:
			s.claimed = false // to be replaced here
		case ok[i]:
			s.v.counts.inc(fillStored)
			s.putSized(s.it, s.size)
		case err != nil:
			s.v.counts.inc(fillFailed)
			s.err = unreached(err)
			s.putSized(s.it, s.size)
		default: // an invalidation or another Set came last
			s.v.counts.inc(fillLost)
		}
	}
}
