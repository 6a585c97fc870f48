package rules_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// byName returns the arguments of each directive.
func byName(d rules.Directives) map[string][]string {
	m := map[string][]string{}
	for _, e := range d {
		m[e.Name] = append(m[e.Name], e.Arg)
	}
	return m
}

func TestParseCacheControl(t *testing.T) {
	type d = map[string][]string
	cases := map[string]struct {
		lines []string
		want  d
		ok    bool
	}{
		"none":                   {nil, d{}, true},
		"empty":                  {[]string{"", " ", ",,"}, d{}, true},
		"one":                    {[]string{"no-store"}, d{"no-store": {""}}, true},
		"case":                   {[]string{"Public, MAX-AGE=5"}, d{"public": {""}, "max-age": {"5"}}, true},
		"space":                  {[]string{" public ,\tmax-age=5 "}, d{"public": {""}, "max-age": {"5"}}, true},
		"lines":                  {[]string{"public", "max-age=5"}, d{"public": {""}, "max-age": {"5"}}, true},
		"quoted":                 {[]string{`private="a, b", max-age="5"`}, d{"private": {"a, b"}, "max-age": {"5"}}, true},
		"escaped quote":          {[]string{`x="a\"b\\", no-store`}, d{"x": {`a"b\`}, "no-store": {""}}, true},
		"quoted no-store":        {[]string{`x="no-store"`}, d{"x": {"no-store"}}, true},
		"twice":                  {[]string{"max-age=5, max-age=7"}, d{"max-age": {"5", "7"}}, true},
		"unknown":                {[]string{"stale-while-revalidate=30, immutable"}, d{"stale-while-revalidate": {"30"}, "immutable": {""}}, true},
		"open quote":             {[]string{`x="a, no-store`}, d{"x": {"a, no-store"}}, false},
		"backslash at the end":   {[]string{`x="a\`}, d{"x": {"a"}}, false},
		"no argument":            {[]string{"max-age=, private"}, d{"max-age": {""}, "private": {""}}, false},
		"no name":                {[]string{"=5, private"}, d{"private": {""}}, false},
		"semicolon":              {[]string{"max-age=5; private, no-cache"}, d{"max-age": {"5"}, "no-cache": {""}}, false},
		"space around the equal": {[]string{"max-age = 5"}, d{"max-age": {""}}, false},
		"not ASCII":              {[]string{"é, private"}, d{"private": {""}}, false},
	}
	for name, c := range cases {
		got, ok := rules.ParseCacheControl(c.lines)
		if diff := cmp.Diff(c.want, byName(got)); diff != "" || ok != c.ok {
			t.Errorf("%s: ok %v, %s", name, ok, diff)
		}
	}
}

func TestSeconds(t *testing.T) {
	type result struct {
		n  int64
		ok bool
	}
	for line, want := range map[string]result{
		"":                                   {math.MaxInt32, false},
		"max-age=5":                          {5, true},
		"max-age=0":                          {0, true},
		"max-age=007":                        {7, true},
		`max-age="5"`:                        {5, true},
		"max-age=7, max-age=5":               {5, true},
		"max-age=2147483648":                 {math.MaxInt32, true},
		"max-age=99999999999999999999999999": {math.MaxInt32, true},
		"max-age=1.5":                        {0, false},
		"max-age=-5":                         {0, false},
		"max-age=5s":                         {0, false},
		"max-age":                            {0, false},
		"max-age=5, max-age=x":               {0, false},
	} {
		d, _ := rules.ParseCacheControl([]string{line})
		if n, ok := d.Seconds("max-age"); ok != want.ok || ok && n != want.n {
			t.Errorf("%q: %d, %v, want %v", line, n, ok, want)
		}
	}
}

// A directive among any others is found, or the line is reported as bad. Parsing always ends.
func FuzzParseCacheControl(f *testing.F) {
	for _, s := range []string{"", "public, max-age=5", `private="a, b"`, `x="\"", y`, `"`, "a=", ";;", "\x00"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		one, ok := rules.ParseCacheControl([]string{a})
		for name, args := range byName(one) {
			if name == "" || name != strings.ToLower(name) || len(args) == 0 {
				t.Errorf("directive %q with %q", name, args)
			}
			if n, ok := one.Seconds(name); ok && (n < 0 || n > math.MaxInt32) {
				t.Errorf("%s is %d seconds", name, n)
			}
		}
		if !ok {
			return
		}
		// A well-formed line ends: a directive after it, on this line or the next, is found.
		same, _ := rules.ParseCacheControl([]string{a + ",no-store"})
		next, _ := rules.ParseCacheControl([]string{a, "no-store"})
		if len(same) != len(one)+1 || !same.Has("no-store") || len(next) != len(one)+1 || !next.Has("no-store") {
			t.Errorf("no-store after %q is lost", a)
		}
		two, okTwo := rules.ParseCacheControl([]string{b})
		both, okBoth := rules.ParseCacheControl([]string{a, b})
		if okBoth != okTwo {
			t.Errorf("%q is %v, after %q it is %v", b, okTwo, a, okBoth)
		}
		if !slices.Equal(both, append(slices.Clone(one), two...)) {
			t.Errorf("%q and %q are %q", one, two, both)
		}
	})
}

// No list of validators is read past its end. A validator in it matches only as a whole.
func FuzzMatches(f *testing.F) {
	for _, s := range []string{`"a"`, `W/"a", "b"`, "*", `"`, "W/", `"a" "b"`, ",,", ` "é"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		const etag = `"v1"`
		if rules.Matches(list, etag) && !strings.Contains(list, etag) && !strings.Contains(list, "*") {
			t.Errorf("%q is not in %q", etag, list)
		}
		if !strings.ContainsAny(list, `"*`) && !rules.Matches(`"x", W/"v1", `+list, etag) {
			t.Errorf("%q is lost before %q", etag, list)
		}
	})
}
