package rules

import "net/http"

// Seen is a set of the request headers that a cache asks about. One walk over a header finds them all,
// in place of a look-up for each.
type Seen uint16

// The members of a Seen.
const (
	SawCacheControl Seen = 1 << iota
	SawPragma
	SawConnection
	SawUpgrade
	SawRange
	SawIfMatch     // or If-Unmodified-Since
	SawIfNoneMatch // or If-Modified-Since
	SawStream      // Last-Event-Id or Accept

	// The usual credentials, in this order.
	SawAuthorization
	SawProxyAuthorization
	SawCookie

	// SawOddName says that a name is not canonical.
	SawOddName
)

// Look returns what is in a header. A header without values is not there.
func Look(h http.Header) (s Seen) {
	for name, values := range h {
		if len(values) == 0 {
			continue
		}
		switch name {
		case "Accept", "Last-Event-Id":
			s |= SawStream
		case "User-Agent", "Accept-Encoding", "Accept-Language":
		case "Cache-Control":
			s |= SawCacheControl
		case "Pragma":
			s |= SawPragma
		case "Connection":
			s |= SawConnection
		case "Upgrade":
			s |= SawUpgrade
		case "Range":
			s |= SawRange
		case "If-Match", "If-Unmodified-Since":
			s |= SawIfMatch
		case "If-None-Match", "If-Modified-Since":
			s |= SawIfNoneMatch
		case "Authorization":
			s |= SawAuthorization
		case "Proxy-Authorization":
			s |= SawProxyAuthorization
		case "Cookie":
			s |= SawCookie
		default:
			if !canonical(name) {
				s |= SawOddName
			}
		}
	}
	return s
}

// Any reports whether one of the headers is there.
func (s Seen) Any(of Seen) bool { return s&of != 0 }

// canonical reports whether a name is certainly as http.CanonicalHeaderKey spells it.
func canonical(name string) bool {
	upper := true
	for i := range len(name) {
		c := name[i]
		if upper && 'a' <= c && c <= 'z' || !upper && 'A' <= c && c <= 'Z' {
			return http.CanonicalHeaderKey(name) == name
		}
		upper = c == '-'
	}
	return true
}
