package engine

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/resident"
)

// attempt is the result of one run of the loader for one key.
type attempt struct {
	e         *resident.Entry // for the value
	it        *resident.Entry // the value or absence; nil when err or panicked is set
	err       error
	cause     error // why it is absent, in the loader's words
	panicked  error
	failed    bool // the loader's call as a whole: an error, a panic or a Goexit
	mark      fence.Mark
	facts     resident.Facts
	empty     bool // a value that stands for nothing, by Config.Empty
	begun     int64
	took      time.Duration
	overtaken bool
	lagged    bool // by ReplicaLag; no less than overtaken, and a repetition would be lagged, too
}

// noStore reports whether the loader's outcome must not be stored in any tier.
func (a *attempt) noStore() bool {
	return a.facts.Unstored || a.facts.OfExpired && a.err == nil || a.facts.NeverFresh && (a.absent() || !a.facts.Lasting())
}

// absent reports whether the outcome lives as an absence does.
func (a *attempt) absent() bool { return a.empty || a.it.Err != nil }

// loaded is the result of the user's loader, and the tags from Config.Tags.
type loaded struct {
	one  *resident.Entry
	all  []*resident.Entry // by run, if there are several or the loader is LoadMany
	tags [][]string        // by run
	errs []error           // by run, of LoadMany
	err  error             // of the whole call
}

// take takes the entries for the values. They are born at mark.
func (g *loaded) take(runs []run, mark fence.Mark) {
	g.one = runs[0].f.j.Take(mark)
	if !runs[0].f.j.Many {
		return
	}
	g.all = make([]*resident.Entry, len(runs))
	g.all[0] = g.one
	for i := 1; i < len(runs); i++ {
		g.all[i] = runs[i].f.j.Take(mark)
	}
}

// run calls the loader. It may panic.
func (g *loaded) run(ctx context.Context, runs []run) {
	j := &runs[0].f.j
	if j.Many {
		g.errs, g.err = j.View.Kind.LoadMany(ctx, g.all)
	} else {
		g.err = j.View.Kind.Load(ctx, j.Loader, g.one)
	}
	if !j.View.Tagged {
		return
	}
	g.tags = make([][]string, len(runs))
	for i := range runs {
		if it, err := g.of(i); err == nil {
			g.tags[i] = j.View.Kind.Tags(it)
		}
	}
}

// of returns the entry of the i-th run, and its error.
func (g *loaded) of(i int) (*resident.Entry, error) {
	if g.all == nil {
		return g.one, g.err
	}
	return g.all[i], g.errs[i]
}

// replaced is the value that a load replaces, or nil, and the lease under which it was clear.
type replaced struct {
	it    *resident.Entry
	lease int64
}

// conclude makes an entry from the loader's result for the i-th run, or keeps its error.
func (f *flight) conclude(a *attempt, got *loaded, i int, prev replaced) {
	it, err := got.of(i)
	var tags []string
	if i < len(got.tags) {
		tags = got.tags[i]
	}
	it.LoadedHere(a.begun, a.took)
	a.e, a.err = it, nil
	switch {
	case err == nil:
		f.j.View.Kind.Clone(it) // the loader may keep the value and change it
		if a.facts.OnPrevious && prev.it != nil {
			f.dependOn(it, prev, &a.facts)
		}
	case errors.Is(err, fault.ErrNotModified) && prev.it != nil:
		f.j.View.Kind.Adopt(it, prev.it)
		tags = nil
		f.dependOn(it, prev, &a.facts)
	case errors.Is(err, fault.ErrNotFound):
		a.cause = err
		it.Writable().Err = f.j.Stored(fault.Remember(err, fault.ErrNotFound, fault.IsCoder))
	default:
		a.err = err
		f.j.View.WarnOfNoRows(err)
		return
	}
	a.empty = it.Err == nil && f.j.View.Kind.Empty(it)
	f.j.SetTags(it, tags, &a.facts)
	f.doubt(a, it)
	if a.facts.OfExpired = a.facts.OfExpired || a.lagged; a.facts.OfExpired {
		it.EndFreshness()
	}
	a.it = it
}

// doubt notes whether an outcome may be older than an invalidation.
func (f *flight) doubt(a *attempt, it *resident.Entry) {
	if lag := f.j.Policy.ReplicaLag; lag > 0 {
		a.lagged = f.j.Recent(a.begun-int64(lag), &it.Deps)
	} else {
		_, a.overtaken = f.j.Overtaken(a.mark, &it.Deps)
	}
}

// dependOn makes an entry depend on everything that the entry it replaces depends on.
func (f *flight) dependOn(it *resident.Entry, prev replaced, said *resident.Facts) {
	bound := len(prev.it.Deps.Tags)+len(prev.it.Keys) > 0
	if bound {
		it.Writable().TagSet = prev.it.Clipped()
	}
	if bound || prev.it.PartsOlder > 0 { // the source does not know its parts
		said.ConfirmedAt = min(said.ConfirmedAt, f.j.Core.ConfirmedAt(prev.it.Rare, prev.it.ReadAt(), prev.lease))
	}
}
