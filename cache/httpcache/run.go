package httpcache

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
)

// run is one run of a source for everybody, in its own goroutine. If there will be no page, its load ends
// early, and the source may run on for one client.
type run struct {
	x      *exchange
	rec    record.Recorder
	outer  outliving
	made   time.Time
	req    http.Header     // what the source sees, without the conditions about prev
	prev   *page.Page      // the page to revalidate; nil: none
	client *record.Client  // which may get the response as it comes
	old    *page.Page      // the page of the entry; nil: none
	ctx    context.Context // the source's
	cancel context.CancelCauseFunc
	apart  atomic.Bool // the end of the load does not end the source, or has ended it
	taken  bool        // our client belongs to the source; protected by rec.Mu
	teed   atomic.Bool // our client reads the response as it comes
	late   atomic.Bool // the load has timed out

	// What the source says.
	own     bool           // a response that may not be stored is our client's own
	parts   bool           // our client does not want the whole response
	tags    [2]string      // of the page
	flushes bool           // a response that is flushed is stored all the same
	resp    *http.Response // of a server, until our client gets it

	// done is closed when the result of the load is known. The fields below are written before
	// that.
	done    chan struct{}
	once    sync.Once
	verdict record.Verdict
	msg     message
	shows   bool // the page shows a parameter that is not in the key
	page    *page.Page
	err     error
}

// start runs the source in the context of a load. The page depends on what a handler reads from caches
// and on what it names by cache.Depend.
func (x *exchange) start(ctx context.Context, old *previous, bare bool) *run {
	n := &x.usual
	if x.ran.Swap(true) {
		n = new(run)
	}
	n.x, n.made, n.done, n.old, n.prev, n.client = x, x.k.now(), make(chan struct{}), old.page, old.check, &x.client
	if old.behind {
		n.client = &record.Client{Ctx: x.ctx} // ours has the old page
	}
	n.outer.Context = ctx
	n.ctx, n.cancel = context.WithCancelCause(&n.outer)
	n.rec.Who = n
	n.rec.Begin(x.k.maxBody, &x.k.room)
	r := x.source.request(n, bare)
	if n.prev != nil {
		n.prev.Ask(r.Header)
	}
	x.k.running.add(1)
	go n.do(r)
	return n
}

func (n *run) do(r *http.Request) {
	returned := false
	defer n.x.k.running.add(-1)
	defer func() {
		if returned {
			return
		}
		// An unrecovered panic would end the program. A nil one is runtime.Goexit.
		n.fell(recover())
	}()
	err := n.x.source.serve(n, r)
	returned = true
	n.returned(err)
}

func (n *run) Judge(status int, h http.Header) record.Verdict {
	n.msg = message{status: status, h: h, asked: n.req, sent: n.made, received: n.x.k.now()}
	v := n.x.source.judge(n)
	v.Held = v.Fate == record.Renew || v.Fate == record.Fail && n.x.had.Load()
	return v
}

// newPage makes a page of the recorded response. It returns nil for a 304 about another page.
func (n *run) newPage(h http.Header, body []byte) *page.Page {
	v := &n.rec.Verdict
	if v.Fate != record.Renew {
		return n.x.source.page(n, h, body)
	}
	if !n.prev.Stands(h) {
		return nil
	}
	p, why := n.x.confirm(n.prev, &n.msg)
	if v.Fate, v.Why = record.Store, why; why == reason.None {
		return p
	}
	if v.Fate = record.Refuse; n.own {
		n.x.own.Store(p)
	}
	return nil
}

// returned makes a page of the recorded response. If the context ended first, a handler may have left
// out half of the response without an error, so there is no page.
func (n *run) returned(err error) {
	cut := context.Cause(n.ctx)
	defer n.cancel(nil)
	if err != nil && !n.rec.CutShort() { // there is no response
		if cut != nil {
			err = cut
		}
		n.end(record.Verdict{}, nil, err)
		return
	}
	_, header, body, ok := n.rec.Finish()
	switch {
	case ok && cut != nil:
		n.end(record.Verdict{}, nil, cut)
	case ok:
		p := n.newPage(header, body)
		n.end(n.rec.Verdict, p, nil)
	}
	n.release(err, nil)
}

// release returns the client, if the source took it, after all of the response is sent. The response
// ended with an error of the source, or with a panic.
func (n *run) release(err error, panicked any) {
	n.rec.Mu.Lock()
	taken, fell := n.taken, n.rec.Settle()
	n.rec.Tail = nil
	n.rec.Drop()
	n.rec.Mu.Unlock()
	if !taken {
		return
	}
	if panicked == nil {
		panicked = fell
	}
	n.client.Release(err, panicked)
}

// fell ends a run whose source panicked with p.
func (n *run) fell(p any) {
	defer n.cancel(nil)
	n.rec.Mu.Lock()
	n.rec.Close()
	n.rec.Mu.Unlock()
	err := cache.ErrGoexit
	if p != nil {
		err = &cache.PanicError{Value: p, Stack: debug.Stack()}
	}
	n.end(record.Verdict{}, nil, err)
	n.release(nil, repanic(err))
}

// outlive lets the source run until its client leaves.
func (n *run) outlive() {
	context.AfterFunc(n.client.Ctx, func() { n.cancel(context.Cause(n.client.Ctx)) })
}

// unlink separates the source from the load. It reports false if it was done before.
func (n *run) unlink() bool { return !n.apart.Swap(true) }

// loadOver ends the source when its load ends, because no client waits or the load took too
// long. If it took too long, the source runs on for a client that waits; see exchange.outlast.
func (n *run) loadOver(ctx context.Context) {
	if n.late.Load() && (n.teed.Load() || !n.x.answered.Load()) {
		n.outlive()
		return
	}
	n.cancel(context.Cause(ctx))
}

// wait waits for the run. It reports false if the load has ended before. After LoadTimeout it
// waits as long as our client does.
func (n *run) wait(ctx context.Context) bool {
	select {
	case <-n.done:
		return true
	case <-ctx.Done():
	}
	n.late.Store(errors.Is(ctx.Err(), context.DeadlineExceeded)) // before unlink; see live
	if n.unlink() {
		n.loadOver(ctx)
	}
	if n.late.Load() {
		n.x.failed.Store(true) // an older page may replace the response
		select {
		case <-n.done:
		case <-n.ctx.Done():
		}
	}
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// stream lets our client read a response that takes long as it comes.
func (n *run) stream() {
	r := &n.rec
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Slow = true
	if r.Status != 0 {
		r.Share()
	}
}

func (n *run) end(v record.Verdict, p *page.Page, err error) {
	n.once.Do(func() {
		n.verdict, n.page, n.err = v, p, err
		close(n.done)
	})
}
