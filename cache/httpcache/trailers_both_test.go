package httpcache_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// Every client gets the trailers of a response, announced or not, and no such response is stored. A
// client that reads the map of trailers between two reads of the body does so alone.
func TestTrailersReachEveryClient(t *testing.T) {
	for name, trail := range map[string]struct{ announced, sent []string }{
		"announced":   {[]string{"Trailer", "X-Sum"}, []string{"X-Sum", "7"}},
		"unannounced": {nil, []string{http.TrailerPrefix + "X-Sum", "7"}},
		"both":        {[]string{"Trailer", "X-Other"}, []string{http.TrailerPrefix + "X-Sum", "7", "X-Other", "8"}},
	} {
		origin := func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Cache-Control", "max-age=60")
			for i := 0; i < len(trail.announced); i += 2 {
				h.Add(trail.announced[i], trail.announced[i+1])
			}
			fmt.Fprint(w, "first ")
			_ = http.NewResponseController(w).Flush()
			fmt.Fprint(w, "second")
			for i := 0; i < len(trail.sent); i += 2 {
				h.Set(trail.sent[i], trail.sent[i+1])
			}
		}
		for side, client := range map[string]func(t *testing.T, origin http.HandlerFunc) (*http.Client, string){
			"handler": trailingHandler, "client": trailingClient,
		} {
			t.Run(name+"/"+side, func(t *testing.T) {
				c, at := client(t, origin)
				for i := range 3 {
					resp, err := c.Get(at)
					if err != nil {
						t.Fatal(err)
					}
					part := make([]byte, 1)
					_, _ = io.ReadFull(resp.Body, part)
					_, announced := resp.Trailer["X-Other"]
					rest, err := io.ReadAll(resp.Body)
					if err != nil || string(part)+string(rest) != "first second" {
						t.Errorf("visit %d: %q and %q, %v", i, part, rest, err)
					}
					_ = resp.Body.Close()
					if resp.Trailer.Get("X-Sum") != "7" || announced != (name == "both") {
						t.Errorf("visit %d: the trailers are %v, %s", i, resp.Trailer, resp.Header["Cache-Status"])
					}
				}
			})
		}
	}
}

func trailingHandler(t *testing.T, origin http.HandlerFunc) (c *http.Client, at string) {
	front := listen(t, proxied(t, proxyTo(t, origin), httpcache.Config{}))
	return front.Client(), front.URL
}

func trailingClient(t *testing.T, origin http.HandlerFunc) (c *http.Client, at string) {
	server := listen(t, origin)
	tr := transport(t, &upstream{}, httpcache.TransportConfig{Base: server.Client().Transport})
	return &http.Client{Transport: tr.Transport}, server.URL
}

// A copy of the response gets the trailers that were announced, as with net/http.
func TestTrailersOfCopy(t *testing.T) {
	o := &upstream{answer: func(_ *http.Request, n int) (*http.Response, error) {
		resp := says(200, "one", "Cache-Control", "max-age=60")
		resp.Trailer = http.Header{"X-Sum": nil}
		resp.Body = &ends{resp.Body, func() { resp.Trailer["X-Sum"] = []string{"1"} }}
		return resp, nil
	}}
	c := transport(t, o, httpcache.TransportConfig{})
	resp, err := c.RoundTrip(outgoing(t, http.MethodGet, pageURL)) //nolint:bodyclose // below, as the copy's
	if err != nil {
		t.Fatal(err)
	}
	own := *resp
	_, _ = io.ReadAll(own.Body)
	_ = own.Body.Close()
	if own.Trailer.Get("X-Sum") != "1" {
		t.Error(own.Trailer)
	}
}

// ends is a body that calls a function at its end.
type ends struct {
	io.ReadCloser
	end func()
}

func (e *ends) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	if err == io.EOF {
		e.end()
	}
	return n, err
}
