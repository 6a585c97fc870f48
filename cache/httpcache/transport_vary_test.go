package httpcache_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

var gzipped = func() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte("hello"))
	_ = w.Close()
	return b.Bytes()
}()

// For any Vary and any earlier requests, a request gets a response to a request with equal values
// of the headers in Vary.
func TestTransportVaryModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"A", "B", "Accept"}
		vary := []string{"A"}
		o := &upstream{answer: func(r *http.Request, _ int) (*http.Response, error) {
			var b strings.Builder
			for _, name := range names {
				if slices.Contains(vary, name) {
					b.WriteString(name + "=" + r.Header.Get(name) + " ")
				}
			}
			resp := says(200, b.String(), "Cache-Control", minute, "Vary", strings.Join(vary, ","))
			return resp, nil
		}}
		tiers, err := cache.Open(cache.TiersConfig{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tiers.Close(context.Background()) }()
		tr, err := httpcache.NewTransport(httpcache.TransportConfig{Tiers: tiers, Base: o})
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			h := http.Header{}
			for _, name := range names {
				if v := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, name); v != "" {
					h.Set(name, v)
				}
			}
			r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, pageURL, http.NoBody)
			r.Header = h
			if rapid.IntRange(0, 9).Draw(t, "purge") == 0 {
				vary = names[:rapid.IntRange(0, len(names)).Draw(t, "vary")]
				if err := tr.Purge(context.Background(), r); err != nil {
					t.Fatal(err)
				}
			}
			resp, err := tr.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			b := new(bytes.Buffer)
			_, _ = b.ReadFrom(resp.Body)
			_ = resp.Body.Close()
			for part := range strings.FieldsSeq(b.String()) {
				if name, value, _ := strings.Cut(part, "="); h.Get(name) != value {
					t.Fatalf("%v is answered by %q, which varies on %q", h, b, vary)
				}
			}
		}
		if err := tr.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// Waiting callers of different variants each get their own.
func TestTransportVariantsDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		o := &upstream{answer: func(r *http.Request, _ int) (*http.Response, error) {
			<-hold
			return says(200, r.Header.Get("A"), "Cache-Control", minute, "Vary", "A"), nil
		}}
		c := transport(t, o, httpcache.TransportConfig{})
		type got struct{ want, body string }
		all := make(chan got, 12)
		for i := range cap(all) {
			go func() {
				want := fmt.Sprint(i % 3)
				all <- got{want, c.get(t, "A", want).body}
			}()
		}
		synctest.Wait()
		close(hold)
		for range cap(all) {
			if g := <-all; g.body != g.want {
				t.Errorf("a caller that wants %s gets %s", g.want, g.body)
			}
		}
		if o.asked() != 3 {
			t.Errorf("%d requests", o.asked())
		}
	})
}
