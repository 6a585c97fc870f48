package httpcache

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// take returns the writer of our client, who then belongs to the source, or nil. Why is the reason why
// the response is not stored, or none.
func (n *run) take(why reason.Reason) http.ResponseWriter {
	w := n.client.Take()
	if w == nil {
		return nil
	}
	n.taken = true
	n.teed.Store(true)
	m := n.x.missed(why)
	if c, ok := w.(*caller); ok {
		c.begin(n, &m)
	}
	w.Header().Add("Cache-Status", n.x.k.lines.Miss(m))
	return w
}

// Tee passes a response that will be stored on while it is recorded. The reader is the client
// that started the run, if it wants the whole response.
func (n *run) Tee() http.ResponseWriter {
	if n.parts || !n.flushes {
		return nil
	}
	return n.take(reason.None)
}

// Early passes an informational response on to our client, if the source saw its whole request.
func (n *run) Early(status int, h http.Header) (ok bool) {
	if !n.flushes {
		return false
	}
	if n.own {
		n.client.Inform(status, h)
	}
	return true
}

// Tees reports whether a response that is flushed is stored all the same.
func (n *run) Tees() bool { return n.flushes }

// Live handles a response that cannot be recorded. If it may, the client that started the
// run gets the response as it comes. Otherwise the source's context ends and all waiting
// clients get their own responses. In both cases the load ends, so that no client waits for the
// end of a stream and LoadTimeout does not cut it.
//
// A 304 answers the cache's condition, so no client gets it.
func (n *run) Live(why reason.Reason) http.ResponseWriter {
	cut := context.Cause(n.ctx)
	if cut == nil && !n.mayBePersonal() && !rules.StandsIn(n.rec.Status) { // the response of a stopped handler says nothing about the page
		n.x.k.memory.add(n.x.at(), n.x.k.now())
	}
	v := record.Verdict{Why: why}
	var w http.ResponseWriter
	own := n.own || why.GoesOn() && !n.rec.Verdict.Mine
	// After unlink the source runs until its client leaves.
	if n.taken {
		n.unlink()
		n.outlive()
		n.end(v, nil, nil) // other clients do not wait for ours
		n.rec.Settle()
		w = n.client.To
	} else if own && n.rec.Verdict.Fate != record.Renew && (n.unlink() || n.late.Load()) {
		if w = n.take(why); w != nil {
			n.outlive()
		}
	}
	if w == nil {
		n.unlink()
		n.cancel(record.ErrNotRecorded)
	}
	n.end(v, nil, cut) // if cut is set, waiting clients get 503: the source had its time
	return w
}

// mayBePersonal reports whether a response may be refused for a reason that lies in our client's
// request. Another client may get a response that is stored.
func (n *run) mayBePersonal() bool {
	return rules.AboutClient(n.rec.Status) || rules.Has(n.req, "Authorization")
}
