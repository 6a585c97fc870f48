package httpcache

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache"
)

// hand gives the response to the caller, if the caller still waits. It sets the body first.
func (x *trip) hand(e *exchanged, set func(), why reason) bool {
	if e.behind || !x.take() {
		return false
	}
	set()
	resp := e.resp
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	m := miss{stale: x.had.Load(), vary: x.v != nil, stored: why == none, detail: why}
	resp.Header.Add("Cache-Status", x.t.lines.miss(m))
	x.t.stats.of(formatOf("", resp.Header)).misses.Add(1)
	x.handed <- resp
	return true
}

// refuse ends a load whose response is for our caller only. The page that the response would have
// replaced is no longer what the origin says, so it is invalidated.
func (x *trip) refuse(ctx context.Context, e *exchanged, prev *page, why reason) (*page, error) {
	t := x.t
	t.stats.refuse(why)
	cache.Filling(ctx).NoStore()
	if !x.hand(e, func() { e.resp.Body = &ownBody{e.resp.Body, e.cancel, x.leave} }, why) {
		e.drop()
	}
	switch {
	case x.v != nil && why == byVary: // the names must be learned again
		x.forget(ctx, x.id)
	case prev != nil && e.resp.StatusCode < 500:
		x.forget(ctx, x.at())
	}
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
