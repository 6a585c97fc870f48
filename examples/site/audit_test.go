package main

import (
	"bytes"
	"cmp"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/site/sitetest"
)

// Bugs that are put in on purpose: a write does not invalidate the lists of English posts, or
// nothing. So a page stays old. Audits report that, with the tags of what is old. The control has no
// bug, and audits report nothing. The README shows the reports.
func TestAuditFindsForgottenEvent(t *testing.T) {
	for name, tt := range map[string]struct {
		bug         control
		write, page string
		shows       string // by the page if it is not old
		found       string // the layer of the first report
		healed      bool
	}{
		"a list":  {control{drop: "posts:en"}, "POST /admin/api/posts " + newPost, "/", "/posts/new", "objects", true},
		"a post":  {control{drop: "%"}, "PUT /admin/api/posts/1 " + oldPost, "/posts/the-cost-of-a-miss", "New title", "responses", false}, // its object stays old
		"control": {control{}, "POST /admin/api/posts " + newPost, "/", "/posts/new", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "site.db")
			if err := sitetest.Fill(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			tt.bug.sabotage(t, path)
			synctest.Test(t, func(t *testing.T) {
				var report bytes.Buffer
				log := slog.New(slog.NewTextHandler(&report, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}}))
				s, err := newSite(sitetest.Open(t, path), siteConfig{adminKey: "k", audit: 1, now: sitetest.Now, log: log})
				if err != nil {
					t.Fatal(err)
				}
				answerOf(t, s, "GET "+tt.page)
				<-time.After(time.Second)
				answerOf(t, s, tt.write)
				if old := !strings.Contains(answerOf(t, s, "GET "+tt.page), tt.shows); old != (tt.found != "") {
					t.Errorf("the page is old: %v", old)
				}
				for range 5 { // an audit takes 4.2 s
					<-time.After(5 * time.Second)
					answerOf(t, s, "GET "+tt.page)
				}
				if old := !strings.Contains(answerOf(t, s, "GET "+tt.page), tt.shows); old == tt.healed {
					t.Errorf("after the audits the page is old: %v", old)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				checkReport(t, report.String(), tt.found)
			})
		})
	}
}

// answerOf makes a request, such as "PUT /path body", and returns the body of the answer.
func answerOf(t *testing.T, h http.Handler, what string) string {
	t.Helper()
	parts := append(strings.SplitN(what, " ", 3), "")
	r := httptest.NewRequestWithContext(t.Context(), parts[0], parts[1], strings.NewReader(parts[2]))
	r.Host = "blog.example"
	if parts[2] != "" {
		r.Header.Set("Authorization", "Bearer k")
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code >= http.StatusBadRequest {
		t.Errorf("%s = %d: %s", what, w.Code, w.Body)
	}
	return w.Body.String()
}

// checkReport compares the first line about an old entry with the README.
func checkReport(t *testing.T, report, layer string) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := ""
	for l := range strings.Lines(report) {
		if line == "" && strings.Contains(l, "layer=") {
			line = l
		}
	}
	if strings.Contains(line, "layer="+cmp.Or(layer, "none")) != (layer != "") || !strings.Contains(string(readme), line) {
		t.Errorf("the report is %q; want one about %q, and in the README\n%s", line, layer, report)
	}
}
