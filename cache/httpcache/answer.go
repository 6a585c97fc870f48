package httpcache

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// answer sends a page, with Age if age is not empty.
func (c *Cache) answer(w http.ResponseWriter, r *http.Request, p *page.Page, line, age string) {
	c.send(w, r, p, line, age, rules.Look(r.Header), nil)
}

// send is answer for a request in whose header saw was seen. Room is memory for the header; it may be nil.
func (c *Cache) send(w http.ResponseWriter, r *http.Request, p *page.Page, line, age string, saw rules.Seen, room []string) {
	h := w.Header()
	p.Fill(h, room, line, age)
	n := c.k.Stats.Of(p.Format)
	ranges := ""
	if saw.Any(rules.SawRange | rules.SawIfMatch) {
		if rules.PreconditionFailed(p, r.Header) {
			rules.DropRepresentation(h)
			delete(h, "Last-Modified")
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
		ranges = rules.RangeOf(p, time.UnixMilli(p.Made), r.Method, r.Header)
	}
	if saw.Any(rules.SawIfNoneMatch) && rules.NotModified(p, r.Header) {
		rules.Leave304(h)
		n.NotModified.Add(1)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if ranges != "" {
		n.Bytes.Add(p.SendRange(w, ranges))
		return
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead && len(p.Body) > 0 {
		sent, _ := w.Write(p.Body) // a client that has left needs no error
		n.Bytes.Add(int64(sent))
	}
}

// forItself lets the handler answer one client from the client's own request, and counts the reason.
func (x *handling) forItself(w http.ResponseWriter, r *http.Request, why reason.Reason) {
	x.c.k.Stats.Bypass(why)
	x.alone(w, r, x.c.k.Lines.Passed(why))
}

// alone is forItself without a reason.
func (x *handling) alone(w http.ResponseWriter, r *http.Request, line string) {
	if x.c.cfg.pages() {
		x.own(w, r, line)
		return
	}
	var sees func(status int, h http.Header)
	if p := x.stored; p != nil {
		sent := x.c.k.Now()
		sees = func(status int, h http.Header) { x.Headed(p, status, h, sent) }
	}
	x.c.past(x.next, w, r.Clone(r.Context()), line, sees) // the handler may change it while a refresh reads it
}

// own lets the handler answer one client from the client's own request. It answers conditional
// requests as the cache does: hits and misses look the same.
func (x *handling) own(w http.ResponseWriter, r *http.Request, line string) {
	k := &x.c.k
	own := &ownRendering{handling: x, w: w, line: line}
	rec := &own.rec
	k.Record(rec, own)
	rec.Client = w
	defer func() { // a handler that panics leaves what it wrote
		rec.Mu.Lock()
		defer rec.Mu.Unlock()
		rec.Close()
	}()
	get, run := r, x.next.ServeHTTP
	if r.Method == http.MethodHead {
		// The header of a HEAD is that of the GET, including validator and length. A response
		// that cannot be recorded ends with its header.
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		get = r.WithContext(ctx)
		get.Method = http.MethodGet
		if rules.Has(r.Header, "Range") { // HEAD has no ranges
			get.Header = r.Header.Clone()
			get.Header.Del("Range")
		}
		head := &headOnly{ResponseWriter: w, cancel: cancel}
		rec.Client, run = head, head.guard(run)
	}
	made := k.Now()
	run(rec, get)
	if status, header, body, ok := rec.Finish(); ok {
		x.c.answer(w, r, k.Page(status, header, body, made), line, "")
	}
}

// ownRendering is a run of the handler for one client.
type ownRendering struct {
	*handling
	rec  record.Recorder
	w    http.ResponseWriter
	line string
}

func (o *ownRendering) Live(reason.Reason) http.ResponseWriter {
	if o.line != "" {
		o.w.Header().Add("Cache-Status", o.line)
	}
	return o.rec.Client
}

func (*ownRendering) Tee() (w http.ResponseWriter, ok bool) { return nil, false }

func (*ownRendering) Early(int, http.Header) bool { return false }

// headOnly is the writer of a HEAD when the handler runs as for a GET.
type headOnly struct {
	http.ResponseWriter
	cancel context.CancelFunc
	ended  atomic.Bool // a write was refused: the client has all that it gets
}

func (w *headOnly) Write([]byte) (int, error) {
	w.ended.Store(true)
	w.cancel()
	return 0, http.ErrBodyNotAllowed
}

// guard lets run abort after a refused write, as a reverse proxy does. Otherwise the client would
// lose its connection, and perhaps the header.
func (w *headOnly) guard(run http.HandlerFunc) http.HandlerFunc {
	return func(to http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil && (p != http.ErrAbortHandler || !w.ended.Load()) { //nolint:errorlint // itself, as for net/http
				panic(p)
			}
		}()
		run(to, r)
	}
}

// Unwrap is for http.ResponseController.
func (w *headOnly) Unwrap() http.ResponseWriter { return w.ResponseWriter }
