package workload

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/report"
)

func runHTTP(ctx context.Context, e *Env) (err error) {
	s := &site{}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, part := range []func(context.Context, *site) error{e.pages, e.pageMisses, e.fetches, e.loopback, e.pageFleet} {
		if err := part(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

var pageSpan = [3]int64{400, 100, 4}

// contender makes the request of an ask once and again, and checks the answers.
func (a *ask) contender(h http.Handler, next func() *http.Request) contender {
	w := &nowhere{header: http.Header{}}
	each := int64(a.length)
	return contender{
		name: a.name,
		before: func(context.Context) error {
			w.n = 0
			if w.get(h, next()); a.length < 0 {
				each = w.n
			}
			w.n = 0
			return nil
		},
		op:    func(context.Context, int) error { w.get(h, next()); return nil },
		after: func(_ report.Line, r measure.Result) error { return w.check(a, each, r.Ops) },
	}
}

// pages measures every kind of request.
func (e *Env) pages(ctx context.Context, s *site) error {
	var cs []contender
	for _, a := range asks() {
		h := a.next
		if a.cfg != nil {
			var err error
			if h, err = s.cached(a.next, *a.cfg); err != nil {
				return err
			}
		}
		r := pageRequest(a.header)
		(&nowhere{header: http.Header{}}).get(h, pageRequest(a.prepare)) // stores the page; for the variant, the first one
		cs = append(cs, a.contender(h, func() *http.Request { return r }))
	}
	return e.compare(ctx, &scenario{id: "J", setting: pageSetting, span: pageSpan, tables: []report.Comparison{{
		Title: "J: one request again and again, 1 goroutine", Reference: barePage, Unit: nsOp, More: []string{allocsOp, bytesOp},
		Note: "Pages have 8 KiB unless the row says otherwise. The response writer discards them. The preset is Shared unless the row names another.",
	}}}, cs)
}

// pageMisses measures requests for pages that were never requested before. The tier is soon full,
// so most stores evict a page.
func (e *Env) pageMisses(ctx context.Context, s *site) error {
	page := pageOf(pageSize)
	h, err := s.cached(page, httpcache.Config{})
	if err != nil {
		return err
	}
	n, r := 0, pageRequest(nil)
	next := func() *http.Request {
		n++
		another := *r // each request gets its own copy, as in a server
		another.RequestURI = "/posts/" + strconv.Itoa(n)
		another.URL = &url.URL{Path: another.RequestURI}
		return &another
	}
	bare := ask{name: barePage, status: http.StatusOK, length: pageSize}
	stored := ask{name: missStored, status: http.StatusOK, length: pageSize, how: "fwd=uri-miss;stored"}
	return e.compare(ctx, &scenario{id: "J", setting: missSetting, span: pageSpan, tables: []report.Comparison{{
		Title: "J: a page that is not there, 1 goroutine", Reference: barePage, Unit: nsOp, More: []string{allocsOp, bytesOp},
		Note: "8 KiB. The local tier of 64 MiB is full, so each stored page evicts another.",
	}}}, []contender{bare.contender(page, next), stored.contender(h, next)})
}
