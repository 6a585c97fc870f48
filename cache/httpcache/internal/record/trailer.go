package record

import (
	"net/http"
	"strings"
)

// trail passes on the trailers, announced or not.
func (r *Recorder) trail() {
	h := r.out.Header()
	for _, line := range r.Sent["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if v, ok := r.Given[name]; ok {
				h[name] = v
			}
		}
	}
	for name, v := range r.Given {
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
