package exchange

import (
	"context"
	"net/http"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// take returns the writer of our client, who then belongs to the source, or nil. Why is the reason why
// the response is not stored, or none.
func (n *Run) take(why reason.Reason) http.ResponseWriter {
	w := n.client.Take()
	if w == nil {
		return nil
	}
	n.taken.Store(true)
	m := n.x.Missed(why)
	if c, ok := w.(beginner); ok {
		m = c.Begin(n, m)
	}
	w.Header().Add("Cache-Status", n.x.Core.Lines.Miss(m))
	if n.Parts && rules.NotModified(&n.Msg, n.x.Header) { // the source has not seen our client's conditions
		w = unchanged{w}
	}
	return w
}

// Code returns the status.
func (m *message) Code() int { return m.Status }

// Get returns the first value of a header, or "".
func (m *message) Get(name string) string { return m.Header.Get(name) }

// unchanged is the writer of a client that has the response already. It answers 304, without the body.
type unchanged struct{ http.ResponseWriter }

func (w unchanged) WriteHeader(int) {
	rules.Leave304(w.Header())
	w.ResponseWriter.WriteHeader(http.StatusNotModified)
}

func (w unchanged) Write(b []byte) (int, error) { return len(b), nil }

// Unwrap is for http.ResponseController.
func (w unchanged) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// beginner is a writer that takes the whole response of a server. Begin returns m with what it knows better.
type beginner interface {
	Begin(n *Run, m page.Miss) page.Miss
}

// Tee passes on a response that will be stored, while it is recorded. With Pages it does not, nor if the response is not fit to be stored. The reader is
// the client that started the run, if it wants the whole response.
func (n *Run) Tee() (w http.ResponseWriter, ok bool) {
	switch {
	case n.x.Core.Until, n.unfit():
		return nil, false
	case n.Parts:
		return nil, true
	}
	return n.take(reason.None), true
}

// Early passes an informational response on to our client, if the source saw its whole request.
func (n *Run) Early(status int, h http.Header) (ok bool) {
	if n.x.Core.Until {
		return false
	}
	if n.Own && !n.x.Core.Hashed && !n.unfit() { // net/http gives a Transport's caller its hints
		n.client.Inform(status, h)
	}
	return true
}

// Live handles a response that cannot be recorded. If it may, the client that started the
// run gets the response as it comes. Otherwise the source's context ends and all waiting
// clients get their own responses. In both cases the load ends: no client waits for the
// end of a stream, and LoadTimeout does not cut it.
//
// A 304 answers the cache's condition, so no client gets it. A failure that an older page may replace ends
// the load: without such a page our client gets a response of its own.
func (n *Run) Live(why reason.Reason) http.ResponseWriter {
	cut := context.Cause(n.Ctx)
	if n.unfit() {
		why = reason.Context
	}
	// The response of a stopped handler, or half of one, does not show whether the page can be shared.
	if cut == nil && !n.Rec.Cut && why != reason.Context && !n.mayBePersonal() && !rules.StandsIn(n.Rec.Status) {
		n.x.Core.Memory.Add(n.x.At(), n.x.Core.Now())
	}
	if v := &n.Rec.Verdict; v.Fate == record.Fail && v.Held && why != reason.Context {
		n.unlink()
		n.cancel(record.ErrNotRecorded)
		n.end(record.Verdict{Fate: record.Fail, Why: v.Why, Mine: true}, &page.Page{Status: n.Rec.Status}, cut)
		return nil
	}
	v := record.Verdict{Why: why}
	var w http.ResponseWriter
	own := why != reason.Context && n.Own || why.GoesOn() && !n.Rec.Verdict.Mine
	// After unlink the source runs until its client leaves.
	if n.taken.Load() {
		n.unlink()
		n.outlive()
		n.end(v, nil, nil) // other clients do not wait for ours
		n.Rec.Settle()
		w = n.client.To
	} else if own && n.Rec.Verdict.Fate != record.Renew && (n.unlink() || n.late.Load()) {
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

// mayBePersonal reports whether a response may be refused because of our client's
// request. Another client may get a response that is stored.
func (n *Run) mayBePersonal() bool {
	return rules.AboutClient(n.Rec.Status) || len(n.x.Source.Sees("Authorization")) > 0
}
