// Package record holds a response while its source writes it, and passes it on to the client that reads it
// as it comes. It uses no cache: a Decider says what becomes of the response.
package record

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
)

// ErrNotRecorded is the error of a handler's writes when no client will get them: the response is
// not for everybody, and its client gets another one.
var ErrNotRecorded = errors.New("httpcache: no client reads this response")

// MaxHeader is the largest header that is stored with a response, in bytes.
const MaxHeader = 64 << 10

// Recorder is the http.ResponseWriter of a source whose response may be stored. It records until
// the source returns, or until the response turns out not to be recordable. Then the response
// goes on to a client, or is dropped.
//
// Only the source's goroutine calls it, as with every ResponseWriter. The lock is for the follower,
// and for handlers that break that rule.
type Recorder struct {
	Who     Decider
	Handler bool // the source is a handler: the header goes into that of its client's writer
	Coded   bool // the cache has codings

	// Client is the writer of the only client of the rendering, which gives access to its
	// connection. Nil means that the rendering is for everybody.
	Client http.ResponseWriter

	Given     http.Header // the handler's
	Announced int64       // the length of a server's body, besides that of the header; 0 or less: none
	Brief     bool        // the body was not read
	Trailed   bool        // a server sent trailers
	Cut       bool        // the body ended before its end

	Flow    // its Mu protects the rest
	phase   phase
	Status  int         // 0: not written yet
	Sent    http.Header // the header when the status was written
	Verdict Verdict
	Slow    bool                // the client waits for what is recorded
	Tail    *tail               // in phase recording: of the client that gets the response as it comes; or nil
	out     http.ResponseWriter // in phase passing
}

// Decider decides what becomes of a response that is recorded.
type Decider interface {
	// Decide returns what becomes of a response with this status and header.
	Decide(status int, h http.Header) Verdict

	// Live returns the writer that an unrecordable response goes on to, or nil if there is none.
	// It is called at most once, with the recorder's Mu held.
	Live(why reason.Reason) http.ResponseWriter

	// Tee reports whether a response is recorded although the handler flushes it. Then it
	// returns the writer of a client that gets it as it comes, or nil if there is none. The
	// recorder's Mu is held.
	Tee() (w http.ResponseWriter, ok bool)

	// Early takes an informational response. If it reports false, the recording ends.
	Early(status int, h http.Header) bool
}

type phase uint8

const (
	recording phase = iota
	passing         // to out
	dropped         // no client reads the response
	over            // the handler has returned
)

// Header returns what the handler writes its header to.
func (r *Recorder) Header() http.Header { return r.Given }

// WriteHeader records the status. It decides by status and header whether to continue recording.
func (r *Recorder) WriteHeader(status int) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.writeHeader(status)
}

func (r *Recorder) writeHeader(status int) {
	if r.Status != 0 {
		return
	}
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("httpcache: invalid status code %d", status)) // net/http panics too
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		r.inform(status)
		return
	}
	r.Status, r.Sent = status, rules.Canonical(r.Given)
	r.Verdict = r.Who.Decide(status, r.Sent)
	switch {
	case r.phase == passing:
		r.send()
	case r.phase != recording:
	case r.Verdict.Fate == Refuse:
		r.stop(r.Verdict.Why)
	case r.tooLong():
		r.stop(reason.Size)
	case r.Slow:
		r.Share()
	}
}

// Share gives the client what is recorded so far, and what follows. It reports false if the response is not
// stored, or if no client may get it before it is whole.
func (r *Recorder) Share() (ok bool) {
	if r.phase != recording || r.Verdict.Fate != Store || r.Tail != nil {
		return false
	}
	w, ok := r.Who.Tee()
	if w != nil {
		r.sendHeader(w)
		r.Tail = &tail{f: &r.Flow, w: w}
		r.Tail.more(true)
	}
	return ok
}

// inform passes an informational response on. In a rendering for everybody it begins a dialogue
// with one client, which cannot be stored.
func (r *Recorder) inform(status int) {
	h := rules.Canonical(r.Given)
	if r.phase == recording && r.Who.Early(status, h) {
		return
	}
	if r.phase == recording && r.Client == nil {
		r.stop(reason.EarlyHints)
	}
	if r.phase == recording {
		hint{status, h}.pass(r.Client)
	}
}

// length returns the Content-Length, or -1 if there is none. The length in a 304 is that of the
// old page (RFC 9110 §8.6).
func (r *Recorder) length() int64 {
	if r.Verdict.Fate == Renew {
		return -1
	}
	if r.Announced > 0 {
		return r.Announced
	}
	n, err := strconv.ParseUint(r.Sent.Get("Content-Length"), 10, 63)
	if err != nil {
		return -1
	}
	return int64(n) //nolint:gosec // it has 63 bits
}

// tooLong reports whether the response is already known to be too long.
func (r *Recorder) tooLong() bool {
	return r.length() > int64(r.max) || rules.Size(r.Sent) > MaxHeader
}

// stop ends the recording. What is recorded and what follows goes to the writer that Live
// returns.
func (r *Recorder) stop(why reason.Reason) {
	sent := r.Tail != nil
	r.out = r.Who.Live(why)
	r.Tail = nil
	if r.out == nil {
		r.phase = dropped
		r.Drop()
		return
	}
	r.phase = passing
	if r.Status != 0 && !sent {
		r.send()
	}
	r.Drop()
}

// send passes on the recorded header and body.
func (r *Recorder) send() {
	r.sendHeader(r.out)
	if len(r.Buf) > 0 {
		_, _ = r.out.Write(r.Buf) // the next write fails too
	}
}

func (r *Recorder) sendHeader(w http.ResponseWriter) {
	if r.Client == nil && r.Coded {
		page.Mark(r.Sent, r.Buf)
	}
	if r.Handler { // a Transport's caller has the header
		h := r.Sent
		if r.phase == recording {
			h = h.Clone() // outer handlers may change its values, which will be those of the page
		}
		page.Merge(w.Header(), h)
	}
	w.WriteHeader(r.Status)
}

func (r *Recorder) Write(b []byte) (int, error) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Status == 0 {
		r.writeHeader(http.StatusOK)
	}
	if r.phase == recording && !rules.BodyAllowed(r.Status) {
		return 0, http.ErrBodyNotAllowed
	}
	length, size := r.length(), len(r.Buf)+len(b)
	switch {
	case r.phase != recording:
	case size > r.max:
		r.stop(reason.Size)
	case length >= 0 && int64(size) > length:
		r.stop(reason.Length) // its server ends the body where the handler has said
	case !r.grow(len(b), length):
		r.stop(reason.Room)
	}
	switch r.phase {
	case recording:
		r.Buf = append(r.Buf, b...)
		if r.Tail != nil {
			r.Tail.more(false)
		}
		return len(b), nil
	case passing:
		return r.out.Write(b)
	case dropped, over:
	}
	return 0, ErrNotRecorded
}

// Finish ends the recording after the handler has returned. It returns the parts of a page; ok is
// false if the response went elsewhere.
func (r *Recorder) Finish() (status int, header http.Header, body []byte, ok bool) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Status == 0 {
		r.writeHeader(http.StatusOK)
	}
	if r.phase == recording {
		if r.Trailed || hasTrailers(r.Given) {
			r.stop(reason.Trailer)
		} else if n := r.length(); n >= 0 && n != int64(len(r.Buf)) && !r.Brief {
			r.Cut = true
			r.stop(reason.Length)
		}
	}
	if r.phase == passing {
		r.trail()
	}
	ok, body = r.phase == recording, r.Buf
	r.Close()
	return r.Status, r.Sent, body, ok
}

// CutShort ends the recording of a response that its source could not finish. It reports false if there
// was none.
func (r *Recorder) CutShort() bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	switch {
	case r.Status == 0:
		r.Close()
		return false
	case r.phase == recording:
		r.Cut = true
		r.stop(reason.Length)
	}
	return true
}

// Close ends the recording. A tail sends on. The caller holds Mu.
func (r *Recorder) Close() {
	r.phase = over
	r.end(r.Tail != nil, r.Handler)
}
