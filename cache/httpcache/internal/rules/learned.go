package rules

import (
	"net/http"
	"slices"
	"strings"
)

// maxLearned is how many request headers a response may vary on besides those in its key.
const maxLearned = 8

// Learned returns the request headers that a response with header h varies on and that are not in its
// key, sorted and unique. Keyed reports whether a header needs no variant. It reports false for a
// response that no key can describe.
func Learned(h http.Header, encoded bool, keyed func(name string) bool) (names []string, ok bool) {
	for _, line := range VaryLines(h, encoded) {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			switch {
			case name == "", slices.Contains(names, name):
			case name == "*", !IsToken(name), UnsafeToVary(name):
				return nil, false
			case !keyed(name):
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, len(names) <= maxLearned
}

// UnsafeToVary reports whether a header decides how a response is sent, not what is in it.
func UnsafeToVary(name string) bool {
	switch name {
	case "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
		"Connection", "Upgrade", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Expect", "Host":
		return true
	}
	return false
}
