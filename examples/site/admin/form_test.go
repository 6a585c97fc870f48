package admin_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/site/admin"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// An author writes, publishes, withdraws and deletes a post on the page.
func TestForm(t *testing.T) {
	s := sitetest.Seeded(t)
	h := admin.NewForm(admin.Config{Store: s, Service: service.New(s, service.Config{}), Key: key, Log: slog.New(slog.DiscardHandler)})
	ask := func(method, target string, form url.Values, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth("author", key)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s may be cached", method, target)
		}
		return w
	}
	form := func(do, id string) url.Values {
		return url.Values{
			"do": {do}, "id": {id}, "slug": {"by-form"}, "title": {`A <b> & "c"`}, "summary": {"S"}, "body": {"one\r\ntwo"},
			"status": {"draft"}, "tags": {"go caching"},
		}
	}
	if w := ask("GET", "/admin/posts", nil, "Authorization", "Basic bm86"); w.Code != http.StatusUnauthorized || len(w.Header().Values("WWW-Authenticate")) != 2 {
		t.Errorf("without the key: %d", w.Code)
	}
	if w := ask("POST", "/admin/posts", form("save", ""), "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("from another site: %d", w.Code)
	}
	bad := form("save", "")
	bad.Set("slug", "Not one")
	bad.Set("body", "</textarea><script>")
	w := ask("POST", "/admin/posts", bad)
	for _, want := range []string{"slug: must be", `value="Not one"`, "&lt;/textarea&gt;&lt;script&gt;", `A &lt;b&gt; &amp; &#34;c&#34;`} {
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), want) {
			t.Errorf("an invalid post: %d, without %s", w.Code, want)
		}
	}
	bad = form("save", "")
	bad.Set("published_at", "tomorrow")
	if w := ask("POST", "/admin/posts", bad); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "published_at: must be") {
		t.Errorf("an invalid time: %d", w.Code)
	}
	for _, step := range []struct {
		do, id string
		code   int
		shown  string // on the page of the post; empty: it is gone
	}{
		{"save", "", http.StatusSeeOther, "<option selected>draft"},
		{"publish", "57", http.StatusSeeOther, "<option selected>published"},
		{"withdraw", "57", http.StatusSeeOther, "<option selected>draft"},
		{"render", "57", http.StatusSeeOther, "one\ntwo</textarea>"},
		{"save", "57", http.StatusSeeOther, `value="caching go"`},
		{"explode", "57", http.StatusBadRequest, `value="by-form"`},
		{"publish", "9999", http.StatusNotFound, `value="by-form"`},
		{"delete", "57", http.StatusSeeOther, ""},
	} {
		if w := ask("POST", "/admin/posts", form(step.do, step.id)); w.Code != step.code {
			t.Errorf("%s = %d: %s", step.do, w.Code, w.Body)
		}
		w := ask("GET", "/admin/posts?id=57", nil)
		if step.shown == "" && w.Code != http.StatusNotFound || step.shown != "" && !strings.Contains(w.Body.String(), step.shown) {
			t.Errorf("after %s: %d, without %s", step.do, w.Code, step.shown)
		}
	}
	if w := ask("GET", "/admin/posts?page=2&said=Done.", nil); !strings.Contains(w.Body.String(), `role="status">Done.`) || !strings.Contains(w.Body.String(), "/admin/posts?id=1\"") {
		t.Errorf("the second page lacks the first post: %d", w.Code)
	}
}
