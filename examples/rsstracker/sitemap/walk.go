package sitemap

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

const (
	maxLevels = 5     // of nested indexes; the protocol allows 1
	maxFiles  = 2_000 // visited or waiting, so the queue is bounded too
	maxURLs   = 1_000_000
	maxTime   = time.Hour // after that, no visit begins
	maxFaults = 100       // the most that are kept; one already means that the walk is not whole
)

// Ref is a sitemap to visit.
type Ref struct {
	URL    string
	Parent string // the index that lists it; "" for a root
	level  int    // 0 for a root
}

// Visited is the result of a visit.
type Visited struct {
	URLs  int   // the number of pages
	Fault error // why the visit did not get everything. Nil means that it did
}

// Visit reads a sitemap. It calls list for each sitemap in an index. list reports whether the walk
// knows the URL: it is visited, or waits.
type Visit func(ctx context.Context, ref Ref, list func(url string) bool) (Visited, error)

// Report is the result of a walk.
type Report struct {
	Files   int     // visited, including faulty ones
	URLs    int     // the pages in them
	LeftOut int     // entries for sitemaps that were not visited because of a limit
	Faults  []error // sitemaps that could not be read completely, with their URLs but not the secrets in these
}

// Whole reports whether the walk has read all sitemaps. Only then does a missing page count as
// gone.
func (r Report) Whole() bool { return r.Files > 0 && len(r.Faults) == 0 }

// Walk visits the roots and all sitemaps below them, each once. Unreadable ones are faults, and so
// is a limit that was reached.
func Walk(ctx context.Context, roots []string, visit Visit) (r Report, err error) {
	var queue []Ref
	known := map[string]bool{} // URLs that are or were in the queue
	list := func(parent string, level int) func(string) bool {
		return func(u string) bool {
			switch {
			case known[u]:
			case level > maxLevels, len(known) == maxFiles:
				r.LeftOut++
				return false
			default:
				known[u] = true
				queue = append(queue, Ref{u, parent, level})
			}
			return true
		}
	}
	add, began := list("", 0), time.Now()
	for _, u := range roots {
		add(u)
	}
	for len(queue) > 0 && r.URLs < maxURLs && time.Since(began) < maxTime {
		ref := queue[0]
		queue = queue[1:]
		v, err := visit(ctx, ref, list(ref.URL, ref.level+1))
		if err != nil {
			return r, err
		}
		r.Files++
		r.URLs += v.URLs
		if v.Fault != nil && len(r.Faults) < maxFaults {
			r.Faults = append(r.Faults, fmt.Errorf("%s: %w", fetch.Redact(ref.URL), v.Fault))
		}
	}
	if r.LeftOut += len(queue); r.LeftOut > 0 {
		r.Faults = append(r.Faults, fmt.Errorf("%w: left out %d sitemaps; a run reads at most %d, %d levels deep, with %d pages, and for %v",
			ErrLimit, r.LeftOut, maxFiles, maxLevels, maxURLs, maxTime))
	}
	return r, nil
}
