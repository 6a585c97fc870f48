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

func TestRedirectToNowhere(t *testing.T) {
	o := newOrigin(t, hops)
	_, err := local(t).Get(t.Context(), fetch.Request{URL: o.URL + "/nowhere"})
	if status := new(fetch.StatusError); !errors.As(err, &status) || status.Code != http.StatusFound {
		t.Errorf("Get = %v, want status 302", err)
	}
}

// Each hop is checked like the first one, including its address.
func TestRedirectsAreChecked(t *testing.T) {
	for target, want := range map[string]error{
		"file:///etc/passwd":                     fetch.ErrScheme,
		"gopher://a.example/":                    fetch.ErrScheme,
		"http://u:p@a.example/":                  fetch.ErrURL,
		"http:///nohost":                         fetch.ErrURL,
		"http://a.example:25/":                   fetch.ErrPort,
		"http://a.example:0/":                    fetch.ErrPort,
		"http://169.254.169.254/latest/metadata": fetch.ErrPrivateAddress,
		"http://[::ffff:10.0.0.1]/":              fetch.ErrPrivateAddress,
		"//localhost:9999/no-scheme":             fetch.ErrPrivateAddress,
	} {
		t.Run(target, func(t *testing.T) {
			network := fetch.RealTransport(fetch.Config{})
			c := newClient(t, fetch.Config{Transport: wire(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "start.example" {
					return reply(302, "", "Location", target), nil
				}
				return network.RoundTrip(r)
			})})
			_, err := c.Get(t.Context(), fetch.Request{URL: "http://start.example/"})
			if !errors.Is(err, want) {
				t.Errorf("Get = %v, want %v", err, want)
			}
		})
	}
}

// Two URLs may use one ETag for different contents.
func TestValidatorsGoWhereTheyCameFrom(t *testing.T) {
	target := "/a"
	o := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
			http.Redirect(w, r, target, http.StatusFound)
		case r.Header.Get("If-None-Match") == `"1"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			fmt.Fprint(w, r.URL.Path)
		}
	})
	c := local(t)
	for i, tt := range []struct {
		target string
		want   bool
	}{{"/a", false}, {"/a", true}, {"/b", false}, {"/b", true}, {"/a", true}} {
		target = tt.target
		resp := get(t, c, fetch.Request{URL: o.URL})
		if string(resp.Body) != tt.target || resp.NotModified != tt.want {
			t.Errorf("step %d: %q, NotModified %v; want %q, %v", i, resp.Body, resp.NotModified, tt.target, tt.want)
		}
	}
}
