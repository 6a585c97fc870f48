package httpcache_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

var gzipped = func() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte("hello"))
	_ = w.Close()
	return b.Bytes()
}()

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
