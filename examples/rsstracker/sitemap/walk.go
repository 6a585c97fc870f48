package sitemap

import (
	"context"
	"fmt"
	"time"
)

// Ref is a sitemap to visit.
type Ref struct {
	URL     string
	Parent  string    // the index that names it; "" for a root
	LastMod time.Time // that the index gives; zero: none
	Depth   int       // 0 for a root
}

// Visited is what a visit found.
type Visited struct {
	URLs     int     // pages
	Children []Entry // sitemaps, if it is an index
	Fault    error   // why not all of it is known; nil: it is
}

// Limits bound a walk. The zero Limits are those that their fields name.
type Limits struct {
	MaxDepth int // of indexes in indexes. 0: 5; the protocol allows 1
	MaxFiles int // sitemaps in all. 0: 2,000
	MaxURLs  int // pages in all. 0: 1,000,000
}

func (l Limits) orDefault() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.MaxDepth, 5}, {&l.MaxFiles, 2_000}, {&l.MaxURLs, 1_000_000}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// Fault is a sitemap that could not be read, or not whole.
type Fault struct {
	URL string
	Err error
}

// Report is what a walk was.
type Report struct {
	Files  int // visited, faulty ones included
	URLs   int // pages in them
	Faults []Fault
}

// Whole reports whether everything that the site lists is known. Only then may a
// page that is not listed be taken for one that is gone.
func (r Report) Whole() bool { return r.Files > 0 && len(r.Faults) == 0 }

// Walk visits the roots and, level by level, all sitemaps below them, each once:
// an index that names itself, or one that two others name, is common. What cannot
// be read, or lies beyond a limit, is a fault in the report and does not keep the
// others from being visited. An error of visit ends the walk.
func Walk(ctx context.Context, roots []string, lim Limits, visit func(context.Context, Ref) (Visited, error)) (Report, error) {
	lim = lim.orDefault()
	w := walk{known: map[string]bool{}}
	for _, r := range roots {
		w.add(Ref{URL: r})
	}
	for len(w.queue) > 0 {
		ref := w.queue[0]
		w.queue = w.queue[1:]
		if over := w.over(ref, lim); over != nil {
			w.fault(ref.URL, over)
			continue
		}
		v, err := visit(ctx, ref)
		if err != nil {
			return w.report, err
		}
		w.report.Files++
		w.report.URLs += v.URLs
		if v.Fault != nil {
			w.fault(ref.URL, v.Fault)
		}
		for _, c := range v.Children {
			w.add(Ref{URL: c.Loc, Parent: ref.URL, LastMod: c.LastMod, Depth: ref.Depth + 1})
		}
	}
	return w.report, nil
}

// walk is one walk under way.
type walk struct {
	report Report
	queue  []Ref
	known  map[string]bool // URLs that are or were in the queue
}

func (w *walk) add(r Ref) {
	if !w.known[r.URL] {
		w.known[r.URL] = true
		w.queue = append(w.queue, r)
	}
}

// over returns the limit that keeps ref from being visited, or nil.
func (w *walk) over(ref Ref, lim Limits) error {
	switch {
	case ref.Depth > lim.MaxDepth:
		return fmt.Errorf("%w: indexes more than %d deep", ErrLimit, lim.MaxDepth)
	case w.report.Files >= lim.MaxFiles:
		return fmt.Errorf("%w: more than %d sitemaps", ErrLimit, lim.MaxFiles)
	case w.report.URLs >= lim.MaxURLs:
		return fmt.Errorf("%w: more than %d pages", ErrLimit, lim.MaxURLs)
	}
	return nil
}

// maxFaults bounds the faults that are kept; one is enough to be not whole.
const maxFaults = 100

func (w *walk) fault(url string, err error) {
	if len(w.report.Faults) < maxFaults {
		w.report.Faults = append(w.report.Faults, Fault{URL: url, Err: err})
	}
}
