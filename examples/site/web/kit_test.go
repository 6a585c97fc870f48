package web_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/examples/site/web"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// get requests a path from h, with headers as pairs of names and values.
func get(t *testing.T, h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

var march = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

// small returns a site of two posts and a page, full of special characters, and its service.
func small(t *testing.T) (http.Handler, *service.Service) {
	t.Helper()
	s := sitetest.Empty(t)
	svc := service.New(s, service.Config{Now: func() time.Time { return march }})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(svc.UpdateSettings(ctx, content.Settings{
		BaseURL: sitetest.BaseURL, Author: "Ann & Bob", PostsPerPage: 1, FeedItems: 5,
		Title: `A <small> "site"`, Description: "It's small & fine.",
	}))
	must(svc.UpdateNavigation(ctx, []content.NavItem{{Label: "About <us>", URL: "/pages/about?a=1&b=2"}}))
	must(svc.CreateTag(ctx, content.Tag{Slug: "r-d", Name: "R&D"}))
	for _, in := range []service.PostInput{
		{Slug: "first", Title: "First <b>", Summary: "Less < more & ]]> \"so\".", Body: "# H\n\nA *word* & `x<y`\n\n]]>", Tags: []string{"r-d"}, PublishedAt: march.AddDate(0, -1, 0)},
		{Slug: "second", Title: "Second", Body: "Text."},
	} {
		in.Status = content.Published
		_, err := svc.SavePost(ctx, 0, in)
		must(err)
	}
	_, err := svc.SavePage(ctx, 0, service.PageInput{Slug: "about", Title: "About", Body: "We."})
	must(err)
	return handler(s), svc
}

func handler(s *store.Store) http.Handler { return web.New(web.Config{Reader: s.Reader()}) }
