package rules

import (
	"net/http"
	"strings"
	"time"
)

// maxRanges is the number of ranges that one request may ask for. A request for more gets the
// whole body, as RFC 9110 §14.2 allows.
const maxRanges = 32

// PreconditionFailed reports whether a request wants another version than p (RFC 9110
// §13.2.2, steps 1 and 2). If-Match compares strongly, so a weak validator matches nothing.
func PreconditionFailed(p Stored, h http.Header) bool {
	if p.Code() != http.StatusOK {
		return false
	}
	if lines := h["If-Match"]; len(lines) > 0 {
		return !matchesStrongly(Joined(lines), p.Get("Etag"))
	}
	changed, ok := changedSince(p, h["If-Unmodified-Since"])
	return ok && changed
}

// RangeOf returns the ranges of p that a request asks for, in the form that http.ServeContent reads,
// or "" if the answer is the whole page. By RFC 9110 §14.2 only a GET has ranges, only a 200 is
// cut, and unknown units are ignored.
func RangeOf(p Stored, made time.Time, method string, h http.Header) string {
	lines := h["Range"]
	if p.Code() != http.StatusOK || method != http.MethodGet || len(lines) != 1 {
		return ""
	}
	if !strings.HasPrefix(lines[0], "bytes=") || strings.Count(lines[0], ",") >= maxRanges || !ifRange(p, made, h["If-Range"]) {
		return ""
	}
	if !strings.Contains(lines[0], "-0") {
		return lines[0]
	}
	return withoutLast0(lines[0])
}

// withoutLast0 replaces the last 0 bytes, which no response has (RFC 9110 §14.1.1), by a range
// behind every end. ServeContent would answer "-0" with a range that ends before it begins.
func withoutLast0(ranges string) string {
	specs := strings.Split(strings.TrimPrefix(ranges, "bytes="), ",")
	for i, spec := range specs {
		if last, ok := strings.CutPrefix(strings.TrimSpace(spec), "-0"); ok && strings.Trim(last, "0") == "" {
			specs[i] = "9223372036854775807-"
		}
	}
	return "bytes=" + strings.Join(specs, ",")
}

// ifRange reports whether the client's part is of this response (RFC 9110 §13.1.5). A date proves it
// only if the response could not have changed twice within that second.
func ifRange(p Stored, made time.Time, lines []string) bool {
	switch {
	case len(lines) == 0:
		return true
	case len(lines) > 1:
		return false
	}
	if tag, rest, ok := cutETag(strings.TrimSpace(lines[0])); ok {
		return rest == "" && tag[0] == '"' && tag == p.Get("Etag")
	}
	t, err := http.ParseTime(lines[0])
	if err != nil {
		return false
	}
	m, err := http.ParseTime(p.Get("Last-Modified"))
	return err == nil && m.Equal(t) && !made.Before(m.Add(time.Second))
}

// DropRepresentation removes from h the headers that describe a page that is not sent, and how
// long it may be stored.
func DropRepresentation(h http.Header) {
	for _, name := range []string{
		"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Range", "Expires", "Age", "Surrogate-Control",
	} {
		delete(h, name)
	}
	for name := range h {
		if strings.HasSuffix(name, "Cache-Control") { // RFC 9213 allows more such headers
			delete(h, name)
		}
	}
}
