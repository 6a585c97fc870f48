package httpcache_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache/httpcache"
)

// A panic of the origin, at any moment and as its client reads, reaches all clients that wait for the
// page, without a data race. Nothing is stored, and the next client gets a new response. The origin of a
// Transport is a RoundTripper, or the body that it returns. If a server breaks the connection, all get the error of the RoundTripper as it is.
func TestPanicReachesEverybody(t *testing.T) {
	write := func(w http.ResponseWriter) { _, _ = w.Write([]byte("half")) }
	flush := func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
	wait := func(http.ResponseWriter) {
		for range 100 {
			runtime.Gosched()
		}
	}
	type deeds []func(http.ResponseWriter)
	for name, c := range map[string]struct {
		first deeds
		panic error
	}{
		"at once":                         {nil, errBroken},
		"after the header":                {deeds{flush}, errBroken},
		"after a part":                    {deeds{write, flush}, errBroken},
		"after a part that was not sent":  {deeds{write}, errBroken},
		"at no fixed moment":              {deeds{write, flush, wait}, errBroken},
		"abort":                           {nil, http.ErrAbortHandler},
		"abort, and a part was not sent":  {deeds{write}, http.ErrAbortHandler},
		"abort, and a part was announced": {deeds{announced, write}, http.ErrAbortHandler},
	} {
		t.Run(name, func(t *testing.T) {
			var g *gate
			var asked atomic.Int64
			next := func() http.Handler {
				g = newGate()
				asked.Store(0)
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					first := asked.Add(1) == 1
					g.pass()
					w.Header().Set("Cache-Control", minute)
					if first {
						for _, do := range c.first {
							do(w)
						}
						panic(c.panic)
					}
					fmt.Fprint(w, "page")
				})
			}
			sides(t, httpcache.Config{}, next, func(t *testing.T, get func(...string) answer) {
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						var a answer
						p := panicked(func() { a = get() })
						if err, _ := p.(error); a.status != 0 || p == nil && a.body != errDown.Error() || (err == nil) != isAbort(c.panic) || err != nil && !errors.Is(err, errBroken) {
							t.Errorf("a client gets %v, panic %v", a, p)
						}
					})
				}
				synctest.Wait()
				close(g.open)
				wg.Wait()
				for i := range 2 {
					if a := get(); a.body != "page" || a.hit() != (i == 1) || asked.Load() != 2 {
						t.Errorf("then %v, asked %d times", a, asked.Load())
					}
				}
			})
		})
	}
}

var errBroken = errors.New("the origin is broken")

func announced(w http.ResponseWriter) { w.Header().Set("Content-Length", "100") }
