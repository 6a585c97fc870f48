package httpcache

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// exchanged is a response whose header Base has returned.
type exchanged struct {
	resp            *http.Response // hand gives it away
	status          int
	h               http.Header // a copy with canonical names
	asked, received time.Time
	cancel          context.CancelFunc // ends the request
	behind          bool               // not for the caller, which got a stale page
	conditional     bool               // the request had a validator, so a 304 may answer it
}

// drop ends a response that no caller reads.
func (e *exchanged) drop() {
	_ = e.resp.Body.Close()
	e.cancel()
}

// send sends the request, with the validators of prev unless prev is nil. The request lives as
// long as the load, and longer if a caller reads on. After a 304 about another response it sends
// the request again without validators.
func (x *trip) send(ctx context.Context, prev *page, behind bool) (*exchanged, error) {
	e, err := x.sendOnce(ctx, prev, behind)
	if err != nil || prev == nil || e.status != http.StatusNotModified {
		return e, err
	}
	if prev.stands(e.h) {
		return e, nil
	}
	e.drop()
	return x.sendOnce(ctx, nil, behind)
}

func (x *trip) sendOnce(ctx context.Context, prev *page, behind bool) (*exchanged, error) {
	e := &exchanged{asked: x.t.now(), behind: behind}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	stop := context.AfterFunc(ctx, func() { // only until there is a response
		if !behind && errors.Is(ctx.Err(), context.DeadlineExceeded) && !x.answered() {
			context.AfterFunc(x.ctx, cancel) // our caller waits
			return
		}
		cancel()
	})
	r := x.req.WithContext(own)
	r.Header = x.req.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	e.conditional = prev != nil && prev.ask(r.Header)
	resp, err := x.t.cfg.Base.RoundTrip(r)
	if !stop() && own.Err() != nil { // the load has ended meanwhile
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, &tripError{err: err}
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	e.resp, e.status, e.h, e.received = resp, resp.StatusCode, rules.Canonical(resp.Header), x.t.now()
	return e, nil
}

// unfit returns the reason why a response that may be stored does not fit, or none.
func (t *Transport) unfit(resp *http.Response, h http.Header) reason {
	switch {
	case len(resp.Trailer) > 0:
		return byTrailer
	case resp.ContentLength > int64(t.maxBody) || headerSize(h) > maxHeader:
		return bySize
	}
	return none
}

func headerSize(h http.Header) (n int) {
	for name, values := range h {
		n += len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

// ownBody is the body of a response that only one caller reads. The request ends with the body, and
// with the caller's context.
type ownBody struct {
	io.ReadCloser
	ctx           context.Context // the caller's
	unwait        func() bool
	cancel, leave func()
}

func newOwnBody(ctx context.Context, e *exchanged, leave func()) *ownBody {
	return &ownBody{e.resp.Body, ctx, context.AfterFunc(ctx, e.cancel), e.cancel, leave}
}

// Read reports the end of the caller's context as such.
func (b *ownBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && b.ctx.Err() != nil { //nolint:errorlint // readers return it as it is
		err = b.ctx.Err()
	}
	return n, err
}

// Close ends the request.
func (b *ownBody) Close() error {
	b.unwait()
	err := b.ReadCloser.Close()
	b.cancel()
	b.leave()
	return err
}
