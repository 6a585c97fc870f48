package page

import (
	"net/http"
	"slices"
)

// Merge puts the header of a response into that of its writer. If outer handlers have set a
// header too, the response's wins, as without a cache. Vary and Cache-Status are lists to which
// each handler adds, so merge joins them.
func Merge(to, from http.Header) {
	for name, values := range from {
		to[name] = joinLists(name, to[name], values)
	}
}

// joinLists returns the values of a header of a response if outer handlers, or the cache, have
// already set some.
func joinLists(name string, outer, values []string) []string {
	switch {
	case len(outer) == 0:
	case name == "Vary":
		return append(slices.Clip(outer), values...)
	case name == "Cache-Status": // the nearest to the origin comes first (RFC 9211 §2)
		return append(slices.Clip(values), outer...)
	}
	return values
}
