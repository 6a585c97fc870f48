package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// A path of status numbers and a target redirects with the first status to the rest: /301/302/end.
func hops(w http.ResponseWriter, r *http.Request) {
	code, rest, _ := strings.Cut(r.URL.Path[1:], "/")
	switch n, err := strconv.Atoi(code); {
	case code == "loop":
		http.Redirect(w, r, "/loop?x#again", http.StatusFound)
	case code == "nowhere":
		w.WriteHeader(http.StatusFound)
	case err == nil:
		w.Header().Set("Location", "/"+rest)
		w.WriteHeader(n)
	default:
		fmt.Fprint(w, r.URL.Path)
	}
}

func TestRedirects(t *testing.T) {
	o := newOrigin(t, hops)
	for _, tt := range []struct {
		path      string
		wantBody  string
		wantMoved bool
		wantErr   error
	}{
		{path: "/end", wantBody: "/end"},
		{path: "/301/end", wantBody: "/end", wantMoved: true},
		{path: "/308/301/end", wantBody: "/end", wantMoved: true},
		{path: "/302/end", wantBody: "/end"},
		{path: "/303/307/end", wantBody: "/end"},
		{path: "/301/302/end", wantBody: "/end"},
		{path: "/302/301/end", wantBody: "/end"},
		{path: "/301/301/301/end", wantBody: "/end", wantMoved: true},
		{path: "/301/301/301/301/end", wantErr: fetch.ErrTooManyRedirects},
		{path: "/loop?x", wantErr: fetch.ErrRedirectLoop},
	} {
		t.Run(tt.path, func(t *testing.T) {
			c := newClient(t, fetch.Config{AllowPrivate: true})
			resp, err := c.Get(t.Context(), fetch.Request{URL: o.URL + tt.path})
			if !errors.Is(err, tt.wantErr) {
				t.Fatalf("Get = %v, want %v", err, tt.wantErr)
			}
			moved := ""
			if tt.wantMoved {
				moved = o.URL + "/end"
			}
			if string(resp.Body) != tt.wantBody || resp.MovedTo != moved {
				t.Errorf("Get = %q moved to %q, want %q, %q", resp.Body, resp.MovedTo, tt.wantBody, moved)
			}
			if err == nil && resp.URL != o.URL+"/end" {
				t.Errorf("URL = %q, want that of the end", resp.URL)
			}
		})
	}
}
