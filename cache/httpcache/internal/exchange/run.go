package exchange

import (
	"context"
	"errors"
	"fmt"
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

// Run is one run of a source for everybody, in its own goroutine. If there will be no page, its load ends
// early, and the source may run on for one client.
type Run struct {
	x      *Exchange
	Rec    record.Recorder
	outer  outliving
	Made   time.Time
	Prev   *page.Page      // the page to revalidate; nil: none
	client *record.Client  // which may get the response as it comes
	Old    *page.Page      // the page of the entry; nil: none
	Ctx    context.Context // the source's
	cancel context.CancelCauseFunc
	apart  atomic.Bool // the end of the load does not end the source, or has ended it
	taken  atomic.Bool // our client belongs to the source, and reads the response as it comes
	late   atomic.Bool // the load has timed out
	asked  atomic.Bool // the source asked for a value that it does not see
	tags   [2]string   // of the page

	// What the source says.
	Own   bool           // a response that may not be stored is our client's own
	Parts bool           // our client does not want the whole response
	URL   string         // of its page
	Resp  *http.Response // of a server, until our client gets it

	// done is closed when the result of the load is known. The fields below are written before
	// that.
	done    chan struct{}
	once    sync.Once
	Verdict record.Verdict
	Msg     message
	Shows   bool // the page shows a parameter that is not in the key
	Page    *page.Page
	Err     error
}

// Start runs the source in the context of a load. The page depends on what a handler reads from caches
// and on what it names by cache.Depend. If no client waits any more, Start returns nil: Returned
// has perhaps returned already, and does not wait for this run.
func (x *Exchange) Start(ctx context.Context, old *Previous, bare bool) *Run {
	x.working.Add(1)
	if err := ctx.Err(); errors.Is(err, context.Canceled) || err != nil && x.answered.Load() {
		x.working.Add(-1)
		return nil
	}
	n := &x.usual
	if x.ran.Swap(true) {
		n = new(Run)
	}
	n.x, n.Made, n.done, n.Old, n.Prev, n.client = x, x.Core.Now(), make(chan struct{}), old.Page, old.check, &x.Client
	if x.behind.Load() {
		n.client = &record.Client{Ctx: x.Ctx} // ours has the old page
	}
	n.outer = outliving{context.Background(), ctx, n}
	n.Ctx, n.cancel = context.WithCancelCause(&n.outer)
	x.Core.Record(&n.Rec, n)
	x.Core.Running.Add(1)
	go n.do(bare)
	return n
}

func (n *Run) do(bare bool) {
	returned := false
	defer n.x.Core.Running.Add(-1)
	defer n.x.working.Add(-1)
	defer func() {
		if returned {
			return
		}
		// An unrecovered panic would end the program. A nil one is runtime.Goexit.
		n.fell(recover())
	}()
	r := n.x.Source.Request(n, bare)
	if n.Prev != nil {
		n.Prev.Ask(r.Header)
	}
	err := n.x.Source.Serve(n, r)
	returned = true
	n.returned(err)
}

// Decide implements record.Decider.
func (n *Run) Decide(status int, h http.Header) record.Verdict {
	n.Msg = message{Status: status, Header: h, sent: n.Made, Received: n.x.Core.Now()}
	v := n.x.Weigh(&n.Msg, n.Old, n.Prev != nil)
	if n.unfit() {
		return record.Verdict{Why: reason.Context}
	}
	v.Held = v.Fate == record.Renew || v.Fate == record.Fail && n.x.had.Load()
	return v
}

// newPage makes a page of the recorded response. It returns nil for a 304 that confirms no page.
func (n *Run) newPage(h http.Header, body []byte) *page.Page {
	v := &n.Rec.Verdict
	if v.Fate != record.Renew {
		p := n.x.Core.Page(n.Msg.Status, h, body, n.Made)
		n.Shows = v.Fate == record.Store && p.Shows(n.x.Unkeyed)
		if !n.x.Core.Until {
			p.Vary = page.Choices(v.Names, n.x.Source.Sees, n.x.Core.Hashed)
			p.URL = n.URL
			p.Dated(n.Msg.Received, &v.Life)
		}
		return p
	}
	if !n.Prev.Stands(h) {
		return nil
	}
	p, why := n.x.confirm(n.Prev, &n.Msg)
	if p == nil {
		return nil
	}
	if v.Fate, v.Why = record.Store, why; why == reason.None {
		n.Shows = (&page.Page{Header: p.Header}).Shows(n.x.Unkeyed) // the body is the stored one
		return p
	}
	if v.Fate = record.Refuse; n.Own {
		n.x.Own.Store(p)
	}
	return nil
}

// returned makes a page of the recorded response. If the context ended first, a handler may have left
// out half of the response without an error, so there is no page.
func (n *Run) returned(err error) {
	cut := context.Cause(n.Ctx)
	defer n.cancel(nil)
	if err != nil && !n.Rec.CutShort() { // there is no response
		if cut != nil {
			err = cut
		}
		n.end(record.Verdict{}, nil, err)
		return
	}
	_, header, body, ok := n.Rec.Finish()
	switch {
	case ok && cut != nil:
		n.end(record.Verdict{}, nil, cut)
	case ok && n.asked.Load():
		n.end(record.Verdict{Why: reason.Context}, nil, nil)
	case ok:
		p := n.newPage(header, body)
		n.end(n.Rec.Verdict, p, nil)
	}
	n.release(err, nil)
}

// release returns the client, if the source took it, after all of the response is sent. The response
// ended with an error of the source, or with a panic.
func (n *Run) release(err error, panicked any) {
	n.Rec.Mu.Lock()
	taken, fell := n.taken.Load(), n.Rec.Settle()
	n.Rec.Tail = nil
	n.Rec.Drop()
	n.Rec.Mu.Unlock()
	if !taken {
		return
	}
	if panicked == nil {
		panicked = fell
	}
	n.client.Release(err, panicked)
}

// fell ends a run whose source panicked with p.
func (n *Run) fell(p any) {
	defer n.cancel(nil)
	n.Rec.Mu.Lock()
	n.Rec.Close()
	n.Rec.Mu.Unlock()
	err := cache.ErrGoexit
	if p != nil {
		err = &cache.PanicError{Value: p, Stack: debug.Stack()}
	}
	if n.unfit() {
		n.end(record.Verdict{Why: reason.Context}, nil, nil)
	}
	n.end(record.Verdict{}, nil, err)
	n.release(nil, repanic(err))
}

// hides reports whether the source does not see a value of the load's context, because an outer handler has set it
// for our client. A source that asks for such a value has made a response that is not for everybody. It is not
// for our client either, unless that reads it by now: then the value is our client's.
func (n *Run) hides(key any) bool {
	x := n.x
	if x.Outer == nil || x.Outer.Value(key) == nil || x.Core.Shown(key) {
		return false
	}
	n.asked.Store(true)
	x.Core.Advise("a handler asked its context for a value that an outer handler has set, so its response is not stored; "+
		Around+"; if no response depends on the value, name its key by Config.ContextKeys", "key", fmt.Sprintf("%T", key))
	return !n.taken.Load()
}

// unfit reports whether the source asked for a value that it did not see.
func (n *Run) unfit() bool { return n.asked.Load() && !n.taken.Load() }

// outlive lets the source run until its client leaves.
func (n *Run) outlive() {
	context.AfterFunc(n.client.Ctx, func() { n.cancel(context.Cause(n.client.Ctx)) })
}

// unlink separates the source from the load. It reports false if it was done before.
func (n *Run) unlink() bool { return !n.apart.Swap(true) }

// loadOver ends the source when its load ends, because no client waits or the load took too
// long. If it took too long, the source runs on for a client that waits; see Exchange.Outlast.
func (n *Run) loadOver(ctx context.Context) {
	if n.late.Load() && (n.taken.Load() || !n.x.answered.Load()) {
		n.outlive()
		return
	}
	n.cancel(context.Cause(ctx))
}

// Wait waits for the run. It reports false if the load has ended before. After LoadTimeout it
// waits as long as our client does. If no client waits, it still waits for the source to return, because
// until then the load holds its turn among MaxLoads.
func (n *Run) Wait(ctx context.Context) bool {
	select {
	case <-n.done:
		return true
	case <-ctx.Done():
	}
	n.late.Store(errors.Is(ctx.Err(), context.DeadlineExceeded)) // before unlink; see Live
	if n.unlink() {
		n.loadOver(ctx)
	}
	if n.late.Load() {
		select {
		case <-n.done:
		case <-n.Ctx.Done():
		}
	}
	select {
	case <-n.done:
		return true
	default:
	}
	<-n.done // its callers have ended without it
	return false
}

// Returned waits until all runs of the exchange have returned.
func (x *Exchange) Returned() { _ = x.working.wait(context.Background()) }

// stream lets our client read a response that takes long as it comes.
func (n *Run) stream() {
	r := &n.Rec
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Slow = true
	if r.Status != 0 {
		r.Share()
	}
}

func (n *Run) end(v record.Verdict, p *page.Page, err error) {
	n.once.Do(func() {
		n.Verdict, n.Page, n.Err = v, p, err
		close(n.done)
	})
}
