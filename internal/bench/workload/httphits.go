package workload

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/measure"
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

// pages measures every kind of request.
func (e *Env) pages(ctx context.Context, s *site) error {
	var cs []measure.Contender
	for _, a := range asks() {
		h := a.next
		if a.cfg != nil {
			var err error
			if h, err = s.cached(a.next, *a.cfg); err != nil {
				return err
			}
		}
		w, r := &nowhere{header: http.Header{}}, pageRequest(a.header)
		w.get(h, pageRequest(a.prepare)) // stores the page; for the variant, the first one
		w.get(h, r)
		cs = append(cs, measure.Contender{Name: a.name, Measure: func(ctx context.Context) error {
			w.n = 0
			w.get(h, r)
			each := w.n
			w.n = 0
			res := measure.Run(ctx, measure.Config{For: e.ms(400, 100, 4)}, func(int) func(int) {
				return func(int) { w.get(h, r) }
			})
			e.add(pageLine(pageSetting, a.name), res)
			return w.check(&a, each, res.Ops)
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

// pageMisses measures requests for pages that were never requested before. The tier is soon full,
// so most stores evict a page.
func (e *Env) pageMisses(ctx context.Context, s *site) error {
	page := pageOf(pageSize)
	h, err := s.cached(page, httpcache.Config{})
	if err != nil {
		return err
	}
	next := 0
	contender := func(a ask, h http.Handler) measure.Contender {
		w, r := &nowhere{header: http.Header{}}, pageRequest(nil)
		return measure.Contender{Name: a.name, Measure: func(ctx context.Context) error {
			w.n = 0
			res := measure.Run(ctx, measure.Config{For: e.ms(400, 100, 4)}, func(int) func(int) {
				return func(int) {
					next++
					another := *r // each request gets its own copy, as in a server
					another.RequestURI = "/posts/" + strconv.Itoa(next)
					another.URL = &url.URL{Path: another.RequestURI}
					w.get(h, &another)
				}
			})
			e.add(pageLine(missSetting, a.name), res)
			return w.check(&a, pageSize, res.Ops)
		}}
	}
	return measure.Rounds(ctx, e.Rounds, []measure.Contender{
		contender(ask{name: barePage, status: http.StatusOK, length: pageSize}, page),
		contender(ask{name: missStored, status: http.StatusOK, length: pageSize, how: "fwd=uri-miss;stored"}, h),
	})
}
