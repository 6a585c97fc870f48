package httpcache

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// errNotRecorded is the error of a handler's writes when no client will get them: the response is
// not for everybody, and its client gets another one.
var errNotRecorded = errors.New("httpcache: no client reads this response")

// recorder is the http.ResponseWriter of a source whose response may be stored. It records until
// the source returns, or until the response turns out not to be recordable. Then the response
// goes on to a client, or is dropped.
//
// Only the source's goroutine calls it, as with every ResponseWriter. The lock is for the follower,
// and for handlers that break that rule.
type recorder struct {
	c   *Cache // nil: of a Transport
	who recordedFor

	// client is the writer of the only client of the rendering, which gives access to its
	// connection. Nil means that the rendering is for everybody.
	client http.ResponseWriter

	header    http.Header // the handler's
	announced int64       // the length of a server's body, besides that of the header; 0 or less: none
	brief     bool        // the body was not read

	flow    // its mu protects the rest
	phase   phase
	status  int         // 0: not written yet
	sent    http.Header // the header when the status was written
	verdict verdict
	slow    bool                // the client waits for what is recorded
	tail    follower            // in phase recording: of the client that gets the response as it comes; or nil
	out     http.ResponseWriter // in phase passing
}

// recordedFor decides what becomes of a response that is recorded.
type recordedFor interface {
	// judge decides by status and header.
	judge(status int, h http.Header) verdict

	// live returns the writer that an unrecordable response goes on to, or nil if there is none.
	// It is called at most once, with the recorder's mu held.
	live(why reason.Reason) http.ResponseWriter

	// tees reports whether a response that the handler flushes is recorded all the same. Then tee
	// returns the writer of a client that gets it as it comes, or nil if there is none. The
	// recorder's mu is held.
	tees() bool
	tee() http.ResponseWriter

	// early takes an informational response. If it reports false, the recording ends.
	early(status int, h http.Header) bool
}

type phase uint8

const (
	recording phase = iota
	passing         // to out
	dropped         // no client reads the response
	over            // the handler has returned
)

func (r *recorder) Header() http.Header { return r.header }

// WriteHeader records the status. It decides by status and header whether to continue recording.
func (r *recorder) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeHeader(status)
}

func (r *recorder) writeHeader(status int) {
	if r.status != 0 {
		return
	}
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("httpcache: invalid status code %d", status)) // net/http panics too
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		r.inform(status)
		return
	}
	r.status, r.sent = status, rules.Canonical(r.header)
	r.verdict = r.who.judge(status, r.sent)
	switch {
	case r.phase == passing:
		r.send()
	case r.phase != recording:
	case r.verdict.fate == refuse:
		r.stop(r.verdict.why)
	case r.tooLong():
		r.stop(reason.Size)
	case r.slow:
		r.share()
	}
}

// share gives the client what is recorded so far, and what follows.
func (r *recorder) share() {
	if r.phase != recording || r.verdict.held || r.verdict.fate != store || r.tail != nil || !r.who.tees() {
		return
	}
	if w := r.who.tee(); w != nil {
		r.sendHeader(w)
		if c, ok := w.(*caller); ok {
			r.tail = c
		} else {
			r.tail = &tail{f: &r.flow, w: w}
		}
		r.tail.more(true)
	}
}

// inform passes an informational response on. In a rendering for everybody it begins a dialogue
// with one client, which cannot be stored.
func (r *recorder) inform(status int) {
	h := rules.Canonical(r.header)
	if r.phase == recording && r.who.early(status, h) {
		return
	}
	if r.phase == recording && r.client == nil {
		r.stop(reason.EarlyHints)
	}
	if r.phase == recording {
		page.Merge(r.client.Header(), h)
		r.client.WriteHeader(status)
	}
}

// length returns the Content-Length, or -1 if there is none. The length in a 304 is that of the
// old page (RFC 9110 §8.6).
func (r *recorder) length() int64 {
	if r.verdict.fate == renew {
		return -1
	}
	if r.announced > 0 {
		return r.announced
	}
	n, err := strconv.ParseUint(r.sent.Get("Content-Length"), 10, 63)
	if err != nil {
		return -1
	}
	return int64(n) //nolint:gosec // it has 63 bits
}

// tooLong reports whether the response is already known to be too long.
func (r *recorder) tooLong() bool {
	if r.length() > int64(r.max) {
		return true
	}
	size := 0
	for name, values := range r.sent {
		size += len(name)
		for _, v := range values {
			size += len(v)
		}
	}
	return size > maxHeader
}

// stop ends the recording. What is recorded and what follows goes to the writer that live
// returns.
func (r *recorder) stop(why reason.Reason) {
	sent := r.tail != nil
	r.out = r.who.live(why)
	r.tail = nil
	if r.out == nil {
		r.phase = dropped
		r.drop()
		return
	}
	r.phase = passing
	if r.status != 0 && !sent {
		r.send()
	}
	r.drop()
}

// send passes on the recorded header and body.
func (r *recorder) send() {
	r.sendHeader(r.out)
	if len(r.buf) > 0 {
		_, _ = r.out.Write(r.buf) // the next write fails too
	}
}

func (r *recorder) sendHeader(w http.ResponseWriter) {
	if r.client == nil && r.c != nil && len(r.c.encodings) > 0 {
		page.Mark(r.sent, r.buf)
	}
	if r.c != nil { // a Transport's caller has the header
		page.Merge(w.Header(), r.sent)
	}
	w.WriteHeader(r.status)
}

// settle waits until the tail has everything. It returns the value that the writer panicked with.
func (r *recorder) settle() (fell any) {
	if r.tail == nil {
		return nil
	}
	return r.tail.settle()
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.writeHeader(http.StatusOK)
	}
	if r.phase == recording && !rules.BodyAllowed(r.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if r.phase == recording && len(r.buf)+len(b) > r.max {
		r.stop(reason.Size)
	}
	if r.phase == recording && !r.grow(len(b), r.length()) {
		r.stop(reason.Room)
	}
	switch r.phase {
	case recording:
		r.buf = append(r.buf, b...)
		if r.tail != nil {
			r.tail.more(false)
		}
		return len(b), nil
	case passing:
		return r.out.Write(b)
	case dropped, over:
	}
	return 0, errNotRecorded
}

// finish ends the recording after the handler has returned. It returns the parts of a page; ok is
// false if the response went elsewhere.
func (r *recorder) finish() (status int, header http.Header, body []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.writeHeader(http.StatusOK)
	}
	if r.phase == recording {
		if hasTrailers(r.header) {
			r.stop(reason.Trailer)
		} else if n := r.length(); n >= 0 && n != int64(len(r.buf)) && !r.brief {
			r.stop(reason.Length)
		}
	}
	if r.phase == passing {
		r.trail()
	}
	ok, body = r.phase == recording, r.buf
	r.close()
	return r.status, r.sent, body, ok
}

// cutShort ends the recording of a response that its source could not finish. It reports false if there
// was none.
func (r *recorder) cutShort() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.status == 0:
		r.close()
		return false
	case r.phase == recording:
		r.stop(reason.Length)
	}
	return true
}

// close ends the recording. A tail sends on. The caller holds mu.
func (r *recorder) close() {
	if r.phase = over; r.tail == nil {
		r.drop()
	}
}
