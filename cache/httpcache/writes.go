package httpcache

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// past lets the handler answer a request that bypasses the cache. The answer gets the line of
// Cache-Status, if it is not empty. A successful write invalidates what it has changed before the
// client gets the answer.
func (c *Cache) past(next http.Handler, w http.ResponseWriter, r *http.Request, line string) {
	writes := !rules.Safe(r.Method) && !c.cfg.IgnoreWrites && !c.cfg.Off
	if !writes && line == "" {
		next.ServeHTTP(w, r)
		return
	}
	f := &finalWriter{ResponseWriter: w, line: line}
	if writes {
		// Read r now: the handler may change it.
		wr := exchange.Write{Ctx: context.WithoutCancel(r.Context()), Host: r.Host, Path: r.URL.Path, Line: r.RequestURI}
		f.before = func(status int, h http.Header) {
			if status >= 200 && status < 400 {
				c.k.Wrote(wr, h)
			}
		}
	}
	next.ServeHTTP(f, r)
	f.final(http.StatusOK)
}
