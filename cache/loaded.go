package cache

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/errtree"
	"github.com/twofold-go/twofold/internal/follow"
)

// attempt is the result of one run of the loader for one key.
type attempt[K comparable, V any] struct {
	it        *item[K, V] // the value or absence; nil when err or panicked is set
	err       error
	cause     error // why it is absent, in the loader's words
	panicked  *PanicError
	mark      follow.Mark
	facts     facts
	begun     int64
	took      time.Duration
	overtaken bool
}

// noStore reports whether the loader's outcome must not be stored in any tier.
func (a *attempt[K, V]) noStore() bool {
	return a.facts.noStore || a.facts.unfresh && (a.it.err != nil || !a.facts.lasting())
}

// loaded is the result of the user's loader, and the tags from Config.Tags.
type loaded[K comparable, V any] struct {
	j    *job[K, V]
	val  V          // of Load
	vals map[K]V    // of LoadMany
	tags [][]string // by run
	err  error
	errs *BatchError[K] // in err
}

// run calls the loader. It may panic.
func (g *loaded[K, V]) run(ctx context.Context, runs []run[K, V]) {
	if g.j.many {
		keys := make([]K, len(runs))
		for i := range runs {
			keys[i] = runs[i].f.j.k
		}
		g.vals, g.err = g.j.s.cfg.LoadMany(ctx, keys)
		g.errs, _ = errors.AsType[*BatchError[K]](g.err)
	} else {
		g.val, g.err = g.j.loader(ctx, g.j.k)
	}
	if g.j.s.cfg.Tags == nil {
		return
	}
	g.tags = make([][]string, len(runs))
	for i := range runs {
		if v, err := g.of(runs[i].f.j.k); err == nil {
			g.tags[i] = g.j.s.cfg.Tags(runs[i].f.j.k, v)
		}
	}
}

// of returns the loader's result for one key.
//
//	LoadMany returned           a key in the map        another key
//	nil                         its value               absent
//	a *BatchError[K]            its error in Errs,      its error in Errs, else absent
//	                            else its value
//	an error that wraps one     the same                its error in Errs, else the whole error
//	any other error             its value               absent if the whole error is
//	                                                    ErrNotFound, else the error
func (g *loaded[K, V]) of(k K) (v V, err error) {
	if !g.j.many {
		return g.val, g.err
	}
	if g.errs != nil {
		if err, named := g.errs.Errs[k]; named && err != nil {
			return v, notAbsent(err)
		}
	}
	if v, ok := g.vals[k]; ok {
		return v, nil
	}
	if only, ok := g.err.(*BatchError[K]); g.err == nil || ok && only != nil { //nolint:errorlint // itself, not what it wraps
		return v, ErrNotFound
	}
	return v, notAbsent(g.err)
}

// notAbsent removes ErrNotFound from an error that also reports other failures. Otherwise a
// failed key beside an absent one would be remembered as absent.
func notAbsent(err error) error {
	if errtree.Only(err, ErrNotFound) || errtree.Only(err, ErrNotModified) {
		return err
	}
	return errtree.Without(err, ErrNotFound, ErrNotModified)
}

// replaced is the value that a load replaces, or nil, and the lease under which it was clear.
type replaced[K comparable, V any] struct {
	it    *item[K, V]
	lease int64
}

// conclude makes an item from the loader's result for the i-th run, or keeps its error.
func (f *flight[K, V]) conclude(a *attempt[K, V], got *loaded[K, V], i int, prev replaced[K, V]) {
	v, err := got.of(f.j.k)
	var tags []string
	if i < len(got.tags) {
		tags = got.tags[i]
	}
	it := f.j.newItem(a.mark)
	it.loadedAt, it.here, it.loadTime = a.begun, true, a.took
	a.err = nil
	switch {
	case err == nil:
		if f.j.s.cfg.Clone != nil { // the loader may keep the value and change it
			v = f.j.s.cfg.Clone(v)
		}
		it.val = v
		if a.facts.onPrevious && prev.it != nil {
			f.dependOn(it, prev, &a.facts)
		}
	case errors.Is(err, ErrNotModified) && prev.it != nil:
		it.val = prev.it.val
		tags = nil
		f.dependOn(it, prev, &a.facts)
	case errors.Is(err, ErrNotFound):
		a.cause = err
		it.own().err = f.j.stored(errtree.Remember(err, ErrNotFound, isCoder))
	default:
		a.err = err
		return
	}
	f.j.setTags(it, tags, &a.facts)
	if a.facts.worn { // it is as old as its parts
		it.wear()
	}
	a.it = it
	_, a.overtaken = f.j.t.fences.Overtaken(a.mark, f.j.hash, f.j.FullKey(), it.tags)
}

// dependOn makes an item depend on everything that the item it replaces depends on.
func (f *flight[K, V]) dependOn(it *item[K, V], prev replaced[K, V], said *facts) {
	if len(prev.it.tags) > 0 {
		it.own().tagSet = prev.it.clipped()
	}
	if len(prev.it.tags) > 0 || prev.it.older > 0 { // the source says nothing about its parts
		said.vouched = min(said.vouched, f.j.t.vouchedAt(prev.it.rare, prev.it.readAt(), prev.lease))
	}
}
