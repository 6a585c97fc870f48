package sitemap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

var errDown = errors.New("down")

// tree is a site's sitemaps: indexes with their children, others with their number of pages.
type tree map[string]any

func (s tree) visit(order *[]string) sitemap.Visit {
	return func(_ context.Context, ref sitemap.Ref, list func(string) bool) (v sitemap.Visited, err error) {
		*order = append(*order, ref.URL)
		switch at := s[ref.URL].(type) {
		case []string:
			for _, u := range at {
				list(u)
			}
		case int:
			v.URLs = at
		case nil:
			v.Fault = errDown
		case error:
			err = at
		}
		return v, err
	}
}

func TestWalk(t *testing.T) {
	chain := tree{}
	for i := range 10 {
		chain[fmt.Sprint(i)] = []string{fmt.Sprint(i + 1)}
	}
	wide, many := tree{}, []string{}
	for i := range 2001 {
		many = append(many, fmt.Sprint("file ", i))
		wide[many[i]] = 1
	}
	for name, tc := range map[string]struct {
		site  tree
		roots []string
		order []string
		fault map[string]error // by the URL; "sitemap" for that of the walk
	}{
		"index":            {tree{"i": []string{"a", "b"}, "a": 1, "b": 1}, []string{"i"}, []string{"i", "a", "b"}, nil},
		"points to itself": {tree{"i": []string{"i", "a"}, "a": 1}, []string{"i"}, []string{"i", "a"}, nil},
		"cycle":            {tree{"i": []string{"j"}, "j": []string{"i"}}, []string{"i"}, []string{"i", "j"}, nil},
		"named twice":      {tree{"i": []string{"a"}, "j": []string{"a"}, "a": 1}, []string{"i", "j", "i"}, []string{"i", "j", "a"}, nil},
		"a child is down":  {tree{"i": []string{"a", "b"}, "b": 1}, []string{"i"}, []string{"i", "a", "b"}, map[string]error{"a": errDown}},
		"too deep":         {chain, []string{"0"}, []string{"0", "1", "2", "3", "4", "5"}, map[string]error{"sitemap": sitemap.ErrLimit}},
		"too many files":   {wide, many, many[:2000], map[string]error{"sitemap": sitemap.ErrLimit}},
		"too many pages":   {tree{"i": []string{"a", "b"}, "a": 1_000_000, "b": 1}, []string{"i"}, []string{"i", "a"}, map[string]error{"sitemap": sitemap.ErrLimit}},
	} {
		t.Run(name, func(t *testing.T) {
			var order []string
			r, err := sitemap.Walk(t.Context(), tc.roots, tc.site.visit(&order))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.order, order); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if r.Whole() != (tc.fault == nil) || len(r.Faults) != len(tc.fault) || r.Files != len(order) {
				t.Errorf("report is %+v", r)
			}
			for _, f := range r.Faults {
				url, _, _ := strings.Cut(f.Error(), ": ")
				if want := tc.fault[url]; want == nil || !errors.Is(f, want) {
					t.Errorf("%v, want %v", f, want)
				}
			}
		})
	}
}

// Indexes of indexes, each with the most entries that a sitemap may have, do not fill the memory.
// The walk knows a bounded number of URLs, and says how many it left out.
func TestWalkIsBounded(t *testing.T) {
	const indexes, entries, most = 8, 200_000, 2_000
	root := make([]string, indexes)
	for i := range root {
		root[i] = fmt.Sprint("https://example.com/", i)
	}
	kept := map[string]bool{}
	r, err := sitemap.Walk(t.Context(), root, func(_ context.Context, ref sitemap.Ref, list func(string) bool) (v sitemap.Visited, err error) {
		if ref.Parent != "" {
			return v, err
		}
		for i := range entries {
			if u := fmt.Sprint(ref.URL, "/", i); list(u) {
				kept[u] = true
			}
		}
		return v, err
	})
	if err != nil || len(kept)+indexes > most || r.Files != len(kept)+indexes || r.LeftOut != indexes*entries-len(kept) {
		t.Errorf("of %d URLs %d were kept, %d files visited and %d left out, %v", indexes*entries, len(kept), r.Files, r.LeftOut, err)
	}
	if text := errors.Join(r.Faults...).Error(); r.Whole() || !strings.Contains(text, fmt.Sprintf("left out %d sitemaps", r.LeftOut)) {
		t.Errorf("whole %v, faults %q", r.Whole(), text)
	}
}
