package newsroom

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// gzipFrom is how long a body is at least that is worth compressing.
const gzipFrom = 2 << 10

// serve answers for an outlet, as well as it can at that time of the bad day.
func (n *Newsroom) serve(o outlet, produce producer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := n.cfg.Now().UTC()
		kind, left := n.failing(&o, now)
		if n.fail(w, r, kind, left) {
			return
		}
		a, err := produce(&o, now, r)
		if err != nil {
			http.Error(w, "no answer", http.StatusInternalServerError)
			return
		}
		if kind == cutFault {
			a.body = a.body[:len(a.body)/2]
		}
		n.send(w, r, &o, a)
	})
}

// failing returns how an outlet fails at a time, and for how much longer.
func (n *Newsroom) failing(o *outlet, now time.Time) (faultKind, time.Duration) {
	at := now.Sub(n.cfg.Day)
	if n.cfg.Day.IsZero() || at < o.fault.from || at >= o.fault.to {
		return noFault, 0
	}
	return o.fault.kind, o.fault.to - at
}

// fail reports whether a fault has answered.
func (n *Newsroom) fail(w http.ResponseWriter, r *http.Request, kind faultKind, left time.Duration) bool {
	switch kind {
	case brokenFault:
		http.Error(w, "something is broken", http.StatusInternalServerError)
	case awayFault:
		http.Error(w, "back soon", http.StatusServiceUnavailable)
	case busyFault:
		w.Header().Set("Retry-After", strconv.Itoa(int(left/time.Second)+1))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	case slowFault:
		late := time.NewTimer(n.cfg.Delay)
		defer late.Stop()
		select {
		case <-late.C:
		case <-r.Context().Done():
		}
		return false
	case noFault, cutFault:
		return false
	}
	return true
}

// send sends an answer with its validators, compressed if that is wanted and worth it, or
// says that it is the one that the client has.
func (n *Newsroom) send(w http.ResponseWriter, r *http.Request, o *outlet, a answer) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Vary", "Accept-Encoding")
	if !o.bare {
		sum := sha256.Sum256(a.body)
		h.Set("ETag", `W/"`+hex.EncodeToString(sum[:8])+`"`) // weak: it is the same for both encodings
	}
	if !o.dates {
		a.changed = time.Time{}
	}
	if len(a.body) >= gzipFrom && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(a.body) // a buffer takes everything
		_ = z.Close()
		h.Set("Content-Encoding", "gzip")
		a.body = b.Bytes()
	}
	http.ServeContent(w, r, "", a.changed, bytes.NewReader(a.body))
}
