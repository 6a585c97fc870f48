package workload

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

func runHTTP(e *Env) {
	t := e.t.Part()
	defer t.Close()
	e.pages(t)
	e.pageMisses(t)
	e.fetches(t)
	e.loopback(t)
	e.fleet(&scenario{id: "J", setting: fleetSetting}, 3e9, []string{pagesPeer})
}

var pageSpan = [3]int64{400, 100, 4}

// contender makes the request of an ask once and again, and checks the answers.
func (a *ask) contender(h http.Handler, next func() *http.Request) contender {
	w := &nowhere{header: http.Header{}}
	each := int64(a.length)
	return contender{
		name: a.name,
		before: func() {
			w.n = 0
			if w.get(h, next()); a.length < 0 {
				each = w.n
			}
			w.n = 0
		},
		op:    func(context.Context, int) error { w.get(h, next()); return nil },
		after: func(_ report.Line, r measure.Result) { w.check(a, each, r.Ops) },
	}
}

// pages measures every kind of request.
func (e *Env) pages(t *setup.T) {
	var cs []contender
	for _, a := range asks() {
		h := a.next
		if a.cfg != nil {
			h = cached(t, a.next, *a.cfg)
		}
		r := pageRequest(a.header)
		(&nowhere{header: http.Header{}}).get(h, pageRequest(a.prepare)) // stores the page; for the variant, the first one
		cs = append(cs, a.contender(h, func() *http.Request { return r }))
	}
	e.compare(&scenario{id: "J", setting: pageSetting, span: pageSpan, tables: []report.Comparison{{
		Title: "J: one request again and again, 1 goroutine", Reference: barePage, Unit: nsOp, More: []string{allocsOp, bytesOp},
		Note: "Pages have 8 KiB unless the row says otherwise. The response writer discards them. The preset is Shared unless the row names another.",
	}}}, cs)
}

// pageMisses measures requests for pages that were never requested before. The tier is soon full,
// so most stores evict a page.
func (e *Env) pageMisses(t *setup.T) {
	page := pageOf(pageSize)
	h := cached(t, page, httpcache.Config{})
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
	e.compare(&scenario{id: "J", setting: missSetting, span: pageSpan, tables: []report.Comparison{{
		Title: "J: a page that is not there, 1 goroutine", Reference: barePage, Unit: nsOp, More: []string{allocsOp, bytesOp},
		Note: "8 KiB. The local tier of 64 MiB is full, so each stored page evicts another.",
	}}}, []contender{bare.contender(page, next), stored.contender(h, next)})
}
