package httpcache_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
)

var tagHeaders = []string{"surrogate-key", "Cache-Tag"}

// Tags in a header of a response are those of its page. No client sees the header, even if the
// response is not stored.
func TestTagHeaders(t *testing.T) {
	long := strings.Repeat("x", invalidate.MaxTagLen)
	for name, c := range map[string]struct {
		header []string
		purge  []string // each of them invalidates the page
		stays  []string // none of them does
		how    string   // of the first answer; "": stored
	}{
		"spaces":         {header: []string{"Surrogate-Key", "a  b,c\td"}, purge: []string{"a", "b,c", "d"}, stays: []string{"b", "c"}},
		"commas":         {header: []string{"Cache-Tag", " a b ,, c,"}, purge: []string{"a b", "c"}, stays: []string{"a", "b"}},
		"both":           {header: []string{"Surrogate-Key", "a", "Cache-Tag", "b"}, purge: []string{"a", "b"}},
		"spelled low":    {header: []string{"cache-tag", "a"}, purge: []string{"a"}},
		"empty":          {header: []string{"Cache-Tag", " , "}, stays: []string{"a"}},
		"the longest":    {header: []string{"Cache-Tag", long}, purge: []string{long}},
		"too long":       {header: []string{"Cache-Tag", "a," + long + "x"}, how: "fwd=uri-miss;detail=tags"},
		"not UTF-8":      {header: []string{"Cache-Tag", "a,\xff"}, how: "fwd=uri-miss;detail=tags"},
		"private":        {header: []string{"Cache-Tag", "a", "Cache-Control", "private"}, how: "fwd=uri-miss;detail=private"},
		"another header": {header: []string{"X-Tag", "a"}, stays: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for i := 0; i+1 < len(c.header); i += 2 {
					w.Header()[c.header[i]] = []string{c.header[i+1]}
				}
			}, httpcache.Config{TagHeaders: tagHeaders})
			purge := func(tag string) {
				t.Helper()
				if err := s.c.PurgeTags(t.Context(), tag); err != nil {
					t.Error(err)
				}
			}
			a := s.get(t, "/")
			if want := c.how; want != "" && a.how() != want || want == "" && !s.get(t, "/").hit() {
				t.Error(a)
			}
			for _, tag := range c.stays {
				if purge(tag); !s.get(t, "/").hit() {
					t.Errorf("tag %q invalidates the page", tag)
				}
			}
			for _, tag := range c.purge {
				if purge(tag); s.get(t, "/").hit() {
					t.Errorf("tag %q does not invalidate the page", tag)
				}
			}
		})
	}
}

// Tag headers are removed on every path of an answer.
func TestTagHeadersAreTakenOff(t *testing.T) {
	for name, header := range map[string][]string{
		"through": nil, "past the cache": {"Cookie", "a=b"}, "not stored": {"Cache-Control", "no-store"},
	} {
		for _, off := range []bool{false, true} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Other", "stays")
				w.Header().Set("Surrogate-Key", "early")
				if r.URL.Path == "/hints" {
					w.WriteHeader(http.StatusEarlyHints)
				}
				w.Header()["cache-tag"] = []string{"late"}
				_, _ = w.Write([]byte("page"))
				if r.URL.Path == "/stream" {
					_ = http.NewResponseController(w).Flush()
				}
			}, httpcache.Config{TagHeaders: tagHeaders, Off: off})
			for _, method := range []string{"GET", "GET", "HEAD", "POST"} {
				for _, path := range []string{"/", "/stream", "/hints"} {
					a := do(s, request(t, method, path, header...))
					if a.header.Get("Surrogate-Key") != "" || strings.Contains(strings.ToLower(fmt.Sprint(a.header)), "cache-tag") || a.header.Get("X-Other") == "" {
						t.Errorf("%s, off %t: %s %s: %v", name, off, method, path, a)
					}
				}
			}
		}
	}
}

// If one tag is invalid, PurgeTags refuses all and purges nothing.
func TestPurgeTags(t *testing.T) {
	s := serve(t, set("Cache-Tag", "a, b"), httpcache.Config{TagHeaders: tagHeaders})
	s.get(t, "/")
	err := s.c.PurgeTags(t.Context(), "a", "", strings.Repeat("secret", 50))
	if !errors.Is(err, invalidate.ErrScope) || !strings.Contains(err.Error(), "tag 2 of 3") || !strings.Contains(err.Error(), "tag 3 of 3") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if err := s.c.PurgeTags(t.Context()); err != nil || !s.get(t, "/").hit() {
		t.Errorf("purged by nothing: %v", err)
	}
	if err := s.c.PurgeTags(t.Context(), "x", "b"); err != nil || s.get(t, "/").hit() {
		t.Errorf("not purged: %v", err)
	}
	off := serve(t, set("X", "y"), httpcache.Config{Off: true})
	if err := off.c.PurgeTags(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := off.c.PurgeTags(t.Context(), ""); err == nil {
		t.Error("an empty tag is taken")
	}
}

// For any header, the tags are not empty, have no spaces around them, and together have the
// header's content.
func FuzzTagHeader(f *testing.F) {
	for _, line := range []string{"a b", "a,b", " a , b,,", "\t", "a\xff", strings.Repeat("x,", 300)} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for name, separators := range map[string]string{"Surrogate-Key": " \t", "Cache-Tag": ","} {
			tags := httpcache.SplitTags(name, line)
			for _, tag := range tags {
				if tag == "" || strings.Trim(tag, " \t") != tag || strings.ContainsAny(tag, separators) {
					t.Errorf("%q has a tag %q", line, tag)
				}
			}
			var want []string
			for tag := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
				if tag = strings.Trim(tag, " \t"); tag != "" {
					want = append(want, tag)
				}
			}
			if utf8.ValidString(line) && !slices.Equal(tags, want) {
				t.Errorf("%q is %q, want %q", line, tags, want)
			}
		}
	})
}
