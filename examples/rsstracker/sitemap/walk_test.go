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

func (s tree) visit(order *[]string) func(context.Context, sitemap.Ref) (sitemap.Visited, error) {
	return func(_ context.Context, ref sitemap.Ref) (v sitemap.Visited, err error) {
		*order = append(*order, ref.URL)
		switch at := s[ref.URL].(type) {
		case []string:
			v.Children = at
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
		fault map[string]error
	}{
		"index":            {tree{"i": []string{"a", "b"}, "a": 1, "b": 1}, []string{"i"}, []string{"i", "a", "b"}, nil},
		"points to itself": {tree{"i": []string{"i", "a"}, "a": 1}, []string{"i"}, []string{"i", "a"}, nil},
		"cycle":            {tree{"i": []string{"j"}, "j": []string{"i"}}, []string{"i"}, []string{"i", "j"}, nil},
		"named twice":      {tree{"i": []string{"a"}, "j": []string{"a"}, "a": 1}, []string{"i", "j", "i"}, []string{"i", "j", "a"}, nil},
		"a child is down":  {tree{"i": []string{"a", "b"}, "b": 1}, []string{"i"}, []string{"i", "a", "b"}, map[string]error{"a": errDown}},
		"too deep":         {chain, []string{"0"}, []string{"0", "1", "2", "3", "4", "5"}, map[string]error{"6": sitemap.ErrLimit}},
		"too many files":   {wide, many, many[:2000], map[string]error{"file 2000": sitemap.ErrLimit}},
		"too many pages":   {tree{"i": []string{"a", "b"}, "a": 1_000_000, "b": 1}, []string{"i"}, []string{"i", "a"}, map[string]error{"b": sitemap.ErrLimit}},
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

func TestWalkEnds(t *testing.T) {
	var order []string
	if r, err := sitemap.Walk(t.Context(), []string{"a", "b"}, tree{"a": errDown}.visit(&order)); !errors.Is(err, errDown) || len(order) != 1 {
		t.Errorf("Walk = %+v, %v after %v", r, err, order)
	}
	if r, err := sitemap.Walk(t.Context(), nil, tree{}.visit(&order)); err != nil || r.Whole() {
		t.Errorf("a walk without roots is %+v, %v; want not whole", r, err)
	}
}
