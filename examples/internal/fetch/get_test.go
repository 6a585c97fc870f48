package fetch_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

func TestGet(t *testing.T) {
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 10:00:00 GMT")
		w.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprint(w, "<rss/>")
	})
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	c := newClient(t, fetch.Config{AllowPrivate: true, Now: func() time.Time { return now }})
	got := get(t, c, fetch.Request{URL: o.URL + "/feed.xml#top", Accept: "application/rss+xml"})
	want := fetch.Response{
		URL: o.URL + "/feed.xml", Status: 200, ContentType: "application/rss+xml; charset=utf-8", Body: []byte("<rss/>"),
		Hash: "b8a3805e669decf7180d8c7f4af5d4706d615d0678c424bd1c6b853def3bf3d2", FreshFor: 10 * time.Minute,
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApproxTime(10*time.Second)); d != "" {
		t.Errorf("Get differs (-want +got):\n%s", d)
	}
	r := o.last(t)
	sent := []string{r.URL.String(), r.Header.Get("Accept"), r.Header.Get("User-Agent"), r.Header.Get("Accept-Encoding"), r.Header.Get("Referer"), r.Header.Get("Cookie")}
	if d := cmp.Diff([]string{"/feed.xml", "application/rss+xml", "TestBot/1.0 (+https://bot.example)", "gzip", "", ""}, sent); d != "" {
		t.Errorf("the request differs (-want +got):\n%s", d)
	}
}
