package sitemap

import (
	"context"
	"fmt"
)

const (
	maxLevels = 5 // of nested indexes; the protocol allows 1
	maxFiles  = 2_000
	maxURLs   = 1_000_000
	maxFaults = 100 // the most that are kept; one already means that the walk is not whole
)

// Ref is a sitemap to visit.
type Ref struct {
	URL    string
	Parent string // the index that lists it; "" for a root
	level  int    // 0 for a root
}

// Visited is the result of a visit.
type Visited struct {
	URLs     int      // the number of pages
	Children []string // URLs of the sitemaps in an index
	Fault    error    // why the visit did not get everything. Nil: it did
}

// Report is the result of a walk.
type Report struct {
	Files  int     // visited, including faulty ones
	URLs   int     // the pages in them
	Faults []error // sitemaps that could not be read completely, with their URLs
}

// Whole reports whether the walk has read all sitemaps. Only then does a missing page count as
// gone.
func (r Report) Whole() bool { return r.Files > 0 && len(r.Faults) == 0 }

// Walk visits the roots and all sitemaps below them, each once. Unreadable ones are faults.
func Walk(ctx context.Context, roots []string, visit func(context.Context, Ref) (Visited, error)) (r Report, err error) {
	var queue []Ref
	known := map[string]bool{} // URLs that are or were in the queue
	add := func(parent Ref, urls []string, level int) {
		for _, u := range urls {
			if !known[u] {
				known[u] = true
				queue = append(queue, Ref{u, parent.URL, level})
			}
		}
	}
	add(Ref{}, roots, 0)
	for len(queue) > 0 {
		ref := queue[0]
		queue = queue[1:]
		v := Visited{Fault: r.limit(ref)}
		if v.Fault == nil {
			if v, err = visit(ctx, ref); err != nil {
				return r, err
			}
			r.Files++
		}
		r.URLs += v.URLs
		if v.Fault != nil && len(r.Faults) < maxFaults {
			r.Faults = append(r.Faults, fmt.Errorf("%s: %w", ref.URL, v.Fault))
		}
		add(ref, v.Children, ref.level+1)
	}
	return r, nil
}

// limit returns an error if ref is beyond a limit.
func (r Report) limit(ref Ref) error {
	switch {
	case ref.level > maxLevels:
		return fmt.Errorf("%w: indexes more than %d deep", ErrLimit, maxLevels)
	case r.Files >= maxFiles:
		return fmt.Errorf("%w: more than %d sitemaps", ErrLimit, maxFiles)
	case r.URLs >= maxURLs:
		return fmt.Errorf("%w: more than %d pages", ErrLimit, maxURLs)
	}
	return nil
}
