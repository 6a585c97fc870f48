package sitemap_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/rsstracker/sitemap"
)

var errDown = errors.New("down")

// tree is a site's sitemaps: indexes with their children, others with the number of
// their pages.
type tree map[string]any

func (s tree) visit(order *[]string) func(context.Context, sitemap.Ref) (sitemap.Visited, error) {
	return func(_ context.Context, ref sitemap.Ref) (v sitemap.Visited, err error) {
		*order = append(*order, ref.URL)
		switch at := s[ref.URL].(type) {
		case []string:
			for _, c := range at {
				v.Children = append(v.Children, sitemap.Entry{Loc: c})
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
	for name, tc := range map[string]struct {
		site  tree
		roots []string
		lim   sitemap.Limits
		order []string
		fault map[string]error
	}{
		"index":            {tree{"i": []string{"a", "b"}, "a": 1, "b": 1}, []string{"i"}, sitemap.Limits{}, []string{"i", "a", "b"}, nil},
		"points to itself": {tree{"i": []string{"i", "a"}, "a": 1}, []string{"i"}, sitemap.Limits{}, []string{"i", "a"}, nil},
		"cycle":            {tree{"i": []string{"j"}, "j": []string{"i"}}, []string{"i"}, sitemap.Limits{}, []string{"i", "j"}, nil},
		"named twice":      {tree{"i": []string{"a"}, "j": []string{"a"}, "a": 1}, []string{"i", "j", "i"}, sitemap.Limits{}, []string{"i", "j", "a"}, nil},
		"a child is down":  {tree{"i": []string{"a", "b"}, "b": 1}, []string{"i"}, sitemap.Limits{}, []string{"i", "a", "b"}, map[string]error{"a": errDown}},
		"too deep":         {chain, []string{"0"}, sitemap.Limits{MaxDepth: 2}, []string{"0", "1", "2"}, map[string]error{"3": sitemap.ErrLimit}},
		"too many files":   {tree{"i": []string{"a", "b"}, "a": 1, "b": 1}, []string{"i"}, sitemap.Limits{MaxFiles: 2}, []string{"i", "a"}, map[string]error{"b": sitemap.ErrLimit}},
		"too many pages":   {tree{"i": []string{"a", "b"}, "a": 5, "b": 1}, []string{"i"}, sitemap.Limits{MaxURLs: 5}, []string{"i", "a"}, map[string]error{"b": sitemap.ErrLimit}},
	} {
		t.Run(name, func(t *testing.T) {
			var order []string
			r, err := sitemap.Walk(t.Context(), tc.roots, tc.lim, tc.site.visit(&order))
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
				if !errors.Is(f.Err, tc.fault[f.URL]) {
					t.Errorf("%s: %v", f.URL, f.Err)
				}
			}
		})
	}
}

func TestWalkEnds(t *testing.T) {
	var order []string
	if r, err := sitemap.Walk(t.Context(), []string{"a", "b"}, sitemap.Limits{}, tree{"a": errDown}.visit(&order)); !errors.Is(err, errDown) || len(order) != 1 {
		t.Errorf("Walk = %+v, %v after %v", r, err, order)
	}
	if r, err := sitemap.Walk(t.Context(), nil, sitemap.Limits{}, tree{}.visit(&order)); err != nil || r.Whole() {
		t.Errorf("a walk over nothing is %+v, %v; want not whole", r, err)
	}
}
