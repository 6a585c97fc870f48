package httpcache

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// hand gives the response to the caller, if the caller still waits. It sets the body first. After
// that nothing reads the response, because the caller may change it.
func (x *trip) hand(e *exchanged, set func(), why reason) bool {
	if e.behind || !x.take() {
		return false
	}
	set()
	resp := e.resp
	e.resp = nil // from here on it is the caller's
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	m := miss{stale: x.had.Load(), vary: x.v != nil, stored: why == none, detail: why}
	resp.Header.Add("Cache-Status", x.t.lines.miss(m))
	x.t.stats.of(formatOf("", resp.Header)).misses.Add(1)
	x.handed <- resp
	return true
}

// refuse ends a load whose response is for our caller only.
func (x *trip) refuse(ctx context.Context, e *exchanged, prev *page, why reason) (*page, error) {
	if !x.hand(e, func() { e.resp.Body = newOwnBody(x.ctx, e, x.leave) }, why) {
		e.drop()
	}
	return x.refused(ctx, e, prev, why)
}

// refused returns the result of a load whose response is not stored. It forgets the old page if the
// response says that it is over.
func (x *trip) refused(ctx context.Context, e *exchanged, prev *page, why reason) (*page, error) {
	x.t.stats.refuse(why)
	mine := x.t.cfg.Shared && rules.Has(x.h, "Authorization")
	switch {
	case x.v != nil && why == byVary: // the names must be learned again
		x.forget(ctx, x.id)
	case prev != nil && why.whole() && rules.Outdates(e.status, mine):
		x.forget(ctx, x.at())
	case e.behind:
		return nil, &refusal{why}
	}
	cache.Filling(ctx).NoStore()
	return &page{refused: why}, nil
}

// forget invalidates an entry after the load has ended. During the load, the invalidation would
// repeat it.
func (x *trip) forget(ctx context.Context, id string) {
	ctx = context.WithoutCancel(ctx)
	x.t.running.Go(func() {
		<-x.stored
		if err := x.t.pages.Delete(ctx, id); err != nil {
			x.t.warn(ctx, "httpcache: the invalidation of a response that must not be stored any more is pending", err)
		}
	})
}
