package main

import (
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/site/sitetest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

func TestMain(m *testing.M) {
	if os.Getenv(asSite) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A purge at one site also takes effect at the other.
func TestPurgeAtTheOtherSite(t *testing.T) {
	db := filepath.Join(t.TempDir(), "site.db")
	a := build(t, sitetest.Fill(t, db), siteConfig{})
	b := &visitor{t: t, site: build(t, sitetest.Open(t, db), siteConfig{})}
	for _, form := range []string{"tag=post:1", "prefix=default:responses:", "path=/posts/the-cost-of-a-miss", "all=yes"} {
		for range 2 {
			b.ask("GET /posts/the-cost-of-a-miss", "")
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/_cache/responses", strings.NewReader("do=purge&"+form))
		r.Header.Set("Authorization", "Bearer k")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("purge of %s = %d: %s", form, w.Code, w.Body)
		}
		if err := b.hear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.ask("GET /posts/the-cost-of-a-miss", "").Header().Get("Cache-Status"); strings.Contains(got, hit) {
			t.Errorf("after a purge of %s: %s", form, got)
		}
	}
}

// startTogether starts two processes on one new database at the same time.
func startTogether(t *testing.T, db string, flags ...[]string) (sites [2]*process) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range sites {
		wg.Go(func() {
			var err error
			if sites[i], err = launch(t.Context(), append([]string{"--db", db}, flags[i]...)...); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for _, s := range sites {
		if s == nil {
			t.FailNow()
		}
		t.Cleanup(func() { _ = s.stop() })
	}
	return sites
}

// A process shows another one's write within the bound, even if the writer was killed. A
// writer without caches also invalidates.
func TestTwoProcesses(t *testing.T) {
	for name, flags := range map[string][]string{"cached": {}, "uncached": {"--no-cache"}} {
		t.Run(name, func(t *testing.T) {
			oneWritesOneShows(t, startTogether(t, filepath.Join(t.TempDir(), "site.db"), flags, nil))
		})
	}
}

func oneWritesOneShows(t *testing.T, sites [2]*process) {
	t.Helper()
	home := func(i int) string {
		_, body := ask(t, http.MethodGet, sites[i].URL+"/", "", "A", "b")
		return body
	}
	home(1)
	post := strings.Replace(newPost, "New", "TITLE-1", 1)
	began := time.Now()
	if status, body := ask(t, http.MethodPost, sites[0].URL+"/admin/api/posts", post, "Authorization", "Bearer "+processKey); status != http.StatusCreated {
		t.Fatalf("POST /posts = %d: %s", status, body)
	}
	if !strings.Contains(home(0), "TITLE-1") {
		t.Error("the writer does not show its own write")
	}
	sites[0].kill()
	written := time.Now()
	for asked := time.Now(); !strings.Contains(home(1), "TITLE-1"); asked = time.Now() {
		if late := asked.Sub(written); late > sqllog.DefaultBound {
			t.Fatalf("the other process shows the old page to a request %v after the write", late)
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // wait for another process
	}
	t.Logf("the other process shows the write %v after it began", time.Since(began))
}

// A write by plain SQL reaches the pages: the tables of what an operator changes invalidate
// themselves.
func TestPlainSQLReachesPages(t *testing.T) {
	db := filepath.Join(t.TempDir(), "site.db")
	s := sitetest.Fill(t, db)
	v := &visitor{t: t, site: build(t, s, siteConfig{})}
	for _, tt := range []struct{ path, statement, shows string }{
		{"/", `UPDATE nav_items SET label = 'Changed'`, "Changed"},
		{"/", `UPDATE settings SET value = replace(value, '"author"', '"was"')`, ""},
		{"/pages/about", `UPDATE pages SET title = 'All about it' WHERE slug = 'about'`, "All about it"},
		{"/pages/about", `UPDATE pages SET slug = 'us' WHERE slug = 'about'`, ""},
		{"/sitemap.xml", `DELETE FROM pages WHERE slug = 'us'`, ""},
	} {
		for range 2 {
			v.ask("GET "+tt.path, "")
		}
		if got := v.ask("GET "+tt.path, "").Header().Get("Cache-Status"); !strings.Contains(got, hit) {
			t.Fatalf("%s before the write: %s", tt.path, got)
		}
		other, err := sql.Open("sqlite", db)
		if err == nil {
			_, err = other.ExecContext(t.Context(), tt.statement)
			err = errors.Join(err, other.Close(), v.hear(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
		w := v.ask("GET "+tt.path, "")
		if got := w.Header().Get("Cache-Status"); strings.Contains(got, hit) || !strings.Contains(w.Body.String(), tt.shows) {
			t.Errorf("%s after %s: %s", tt.path, tt.statement, got)
		}
	}
}
