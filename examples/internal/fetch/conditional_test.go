package fetch_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// step is an answer of the origin, and the client's expected result.
type step struct {
	status  int
	body    string
	header  []string
	version string

	wantCondition []string // If-None-Match, If-Modified-Since
	wantBody      string
	wantSame      bool
}

// Validators may look odd: only the origin interprets them.
const (
	etag     = `W/"a,b""`
	modified = "Tuesday, 03-Mar-26 10:00:00 GMT"
)

var (
	hello = []string{"ETag", etag, "Last-Modified", modified}
	first = step{status: 200, body: "one", header: hello, wantCondition: []string{"", ""}, wantBody: "one"}
)

var conditional = map[string][]step{
	"validators go back verbatim, and a 304 is the old body": {
		first,
		{status: 304, wantCondition: []string{etag, modified}, wantBody: "one", wantSame: true},
		{status: 304, wantCondition: []string{etag, modified}, wantBody: "one", wantSame: true},
	},
	"a 304 brings new validators, and leaves those that it does not mention": {
		first,
		{status: 304, header: []string{"Last-Modified", "Wed, 04 Mar 2026 10:00:00 GMT"}, wantCondition: []string{etag, modified}, wantBody: "one", wantSame: true},
		{status: 304, wantCondition: []string{etag, "Wed, 04 Mar 2026 10:00:00 GMT"}, wantBody: "one", wantSame: true},
	},
	"Expires: 0 and no-cache leave validators alone": {
		{status: 200, body: "one", header: append([]string{"Expires", "0", "Cache-Control", "no-cache"}, hello...), wantCondition: []string{"", ""}, wantBody: "one"},
		{status: 304, wantCondition: []string{etag, modified}, wantBody: "one", wantSame: true},
	},
	"what must not be stored is not": {
		{status: 200, body: "one", header: append([]string{"Cache-Control", "no-store"}, hello...), wantCondition: []string{"", ""}, wantBody: "one"},
		{status: 200, body: "one", header: hello, wantCondition: []string{"", ""}, wantBody: "one"},
	},
	"cookies and Vary leave validators alone": {
		{status: 200, body: "one", header: append([]string{"Set-Cookie", "a=b", "Vary", "*"}, hello...), wantCondition: []string{"", ""}, wantBody: "one"},
		{status: 304, wantCondition: []string{etag, modified}, wantBody: "one", wantSame: true},
	},
	"after a change the new validators hold": {
		first,
		{status: 200, body: "two", header: []string{"ETag", `"2"`}, wantCondition: []string{etag, modified}, wantBody: "two"},
		{status: 304, wantCondition: []string{`"2"`, ""}, wantBody: "two", wantSame: true},
		{status: 200, body: "three", wantCondition: []string{`"2"`, ""}, wantBody: "three"},
	},
	"another parser version knows no validators": {
		first,
		{status: 200, body: "one", header: hello, version: "v2", wantCondition: []string{"", ""}, wantBody: "one"},
		{status: 304, version: "v2", wantCondition: []string{etag, modified}, wantBody: "one", wantSame: true},
	},
	"a failure does not forget them": {
		first,
		{status: 503, wantCondition: []string{etag, modified}},
		{status: 304, wantCondition: []string{etag, modified}, wantBody: "one", wantSame: true},
	},
}

func TestConditional(t *testing.T) {
	for name, steps := range conditional {
		t.Run(name, func(t *testing.T) { converse(t, steps, false) })
		t.Run(name+", packed", func(t *testing.T) { converse(t, steps, true) })
	}
}

// converse makes one conversation between a client and an origin.
func converse(t *testing.T, steps []step, packed bool) {
	var now step
	o := newOrigin(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(now.header); i += 2 {
			w.Header().Set(now.header[i], now.header[i+1])
		}
		w.WriteHeader(now.status)
		fmt.Fprint(w, now.body)
	})
	c := local(t)
	for i, s := range steps {
		now = s
		resp, err := c.Get(t.Context(), fetch.Request{URL: o.URL, Version: s.version, Packed: packed})
		if (err != nil) != (s.status >= 400) {
			t.Fatalf("step %d: %v", i, err)
		}
		r := o.last(t)
		if d := cmp.Diff(s.wantCondition, []string{r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since")}); d != "" {
			t.Errorf("step %d: condition differs (-want +got):\n%s", i, d)
		}
		if got := content(t, resp); got != s.wantBody || resp.NotModified != s.wantSame || resp.FromCache {
			t.Errorf("step %d: %q, NotModified %v, FromCache %v; want %q, %v, false",
				i, got, resp.NotModified, resp.FromCache, s.wantBody, s.wantSame)
		}
	}
}
