package httpcache

import (
	"net/http"
	"strings"
)

// trail passes on the trailers, announced or not.
func (r *recorder) trail() {
	h := r.out.Header()
	for _, line := range r.sent["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if v, ok := r.header[name]; ok {
				h[name] = v
			}
		}
	}
	for name, v := range r.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			h[name] = v
		}
	}
}

func hasTrailers(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}
