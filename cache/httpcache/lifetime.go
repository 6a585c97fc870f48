package httpcache

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// maxSeconds is the longest time that is counted. Longer times count as this one (RFC 9111
// §1.2.2).
const (
	maxSeconds  = math.MaxInt32
	maxLifetime = maxSeconds * time.Second
)

// rules says how to compute lifetimes. It does not change.
type rules struct {
	shared   bool     // a cache for several users: s-maxage and proxy-revalidate count
	targets  []string // canonical names of the fields for this cache (RFC 9213); the first has priority
	fallback Fallback
}

// lifetime is how long a response may be used, by what it says (RFC 9111 §4.2, RFC 5861, RFC
// 9213). All times are between 0 and maxLifetime.
type lifetime struct {
	age          time.Duration // on arrival (RFC 9111 §4.2.3)
	total        time.Duration // since it was generated: on arrival it stays fresh for total-age
	stale        time.Duration // after total, while it is refreshed
	staleIfError time.Duration // after total, in place of a failure

	explicit   bool // the response names total; 0 if that is unreadable
	asks       bool // no-cache: revalidate before every use
	strict     bool // must-revalidate and the like: never served stale
	noStore    bool // also by must-understand if the status is not understood
	private    bool
	public     bool
	authorized bool // a shared cache may store it although its request had Authorization (RFC 9111 §3.5)
	immutable  bool // RFC 8246
	bad        bool // something in Cache-Control is not a directive, so its meaning is unknown
}

// lifetimeOf computes the lifetime of a response whose header has canonical names. The request
// was sent at asked; the header arrived at received.
//
// The first target field that is readable and not empty counts alone. Without one, Cache-Control
// and Expires count, and Pragma if there is no Cache-Control. Of a repeated directive the least
// argument counts. An unreadable argument counts as 0.
func (r *rules) lifetimeOf(status int, h http.Header, asked, received time.Time) lifetime {
	date, ok := parseDate(h.Get("Date"))
	if !ok {
		date = received // RFC 9110 §6.6.1
	}
	l := lifetime{age: initialAge(h["Age"], date, asked, received)}
	d, targeted := r.target(h)
	if !targeted {
		d, ok = parseCacheControl(h["Cache-Control"])
		l.bad = !ok
	}
	l.read(d, r.shared, status)
	if !targeted && !has(h, "Cache-Control") && names(h["Pragma"], "no-cache") {
		l.asks = true
	}
	r.freshness(&l, d, targeted, h, date, status)
	if !l.asks && !l.strict {
		l.stale = d.duration("stale-while-revalidate", r.fallback.Stale)
		l.staleIfError = d.duration("stale-if-error", r.fallback.StaleIfError)
	}
	return l
}

// read copies the directives that are not about times.
func (l *lifetime) read(d directives, shared bool, status int) {
	l.asks = d.has("no-cache")
	l.private, l.public, l.immutable = d.has("private"), d.has("public"), d.has("immutable")
	l.strict = d.has("must-revalidate") || shared && (d.has("proxy-revalidate") || d.has("s-maxage"))
	l.authorized = l.public || d.has("must-revalidate") || d.has("s-maxage")
	if d.has("must-understand") {
		l.noStore = !understood(status) // no-store is for caches that do not know must-understand
	} else {
		l.noStore = d.has("no-store")
	}
}

// freshness computes the lifetime since the response was generated (RFC 9111 §4.2.1).
func (r *rules) freshness(l *lifetime, d directives, targeted bool, h http.Header, date time.Time, status int) {
	l.explicit = true
	switch {
	case r.shared && d.has("s-maxage"):
		l.total = d.duration("s-maxage", 0)
	case d.has("max-age"):
		l.total = d.duration("max-age", 0)
	case !targeted && has(h, "Expires"):
		l.total = maxLifetime
		for _, line := range h["Expires"] {
			end, ok := parseDate(line)
			if !ok { // most often "0" (RFC 9111 §5.3)
				end = date
			}
			l.total = min(l.total, atMost(end.Sub(date), maxLifetime))
		}
	default:
		l.explicit = false
		if forAll(status) || l.public { // RFC 9111 §4.2.2
			l.total = atMost(r.fallback.heuristic(h.Get("Last-Modified"), date), maxLifetime)
		}
	}
}

// target returns the directives of the first target field that has any. Arguments are spelled as
// in Cache-Control. An argument of a type that no directive takes is unreadable.
func (r *rules) target(h http.Header) (directives, bool) {
	for _, name := range r.targets {
		if !has(h, name) {
			continue
		}
		dict, err := httpsfv.UnmarshalDictionary(h[name])
		if err != nil || len(dict.Names()) == 0 {
			continue
		}
		d := directives{}
		for _, directive := range dict.Names() {
			m, _ := dict.Get(directive)
			if arg, ok := argument(m); ok {
				d[directive] = []string{arg}
			}
		}
		return d, true
	}
	return nil, false
}

// argument spells the value of a directive in a target field. It reports false for a value that
// turns the directive off.
func argument(m httpsfv.Member) (arg string, ok bool) {
	item, ok := m.(httpsfv.Item)
	if !ok {
		return "?", true
	}
	switch v := item.Value.(type) {
	case bool:
		return "", v
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "?", true
}

// initialAge returns the age of a response when its header arrived (RFC 9111 §4.2.3). Of several
// Age values the first counts; one that is not a number is ignored (§5.1). Dates have whole
// seconds, so received is cut to whole seconds too. Otherwise a new response would be up to a
// second old.
func initialAge(lines []string, date, asked, received time.Time) time.Duration {
	apparent := atMost(received.Truncate(time.Second).Sub(date), maxLifetime)
	var said time.Duration
	if len(lines) > 0 {
		first, _, _ := strings.Cut(lines[0], ",")
		if n, ok := seconds(strings.TrimSpace(first)); ok {
			said = time.Duration(n) * time.Second
		}
	}
	return max(apparent, atMost(said+atMost(received.Sub(asked), maxLifetime), maxLifetime))
}

// left returns how long a response that has just arrived may be used: fresh, then stale while it
// is refreshed, then in place of a failure.
func (l *lifetime) left() (fresh, stale, staleIfError time.Duration) {
	end := l.total - l.age
	if l.asks {
		return 0, 0, 0
	}
	late := min(end, 0)
	return max(end, 0), max(l.stale+late, 0), max(l.staleIfError+late, 0)
}

// understood reports whether this package does what the definition of a status requires of caches
// (RFC 9111 §5.2.2.3).
func understood(status int) bool {
	switch status {
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusBadRequest,
		http.StatusForbidden, http.StatusInternalServerError, http.StatusNotImplemented, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return forAll(status)
}

// parseDate reads a date in one of the three formats of HTTP (RFC 9110 §5.6.7). Package time
// accepts more, such as an hour of one digit. Such a date is invalid here.
func parseDate(s string) (time.Time, bool) {
	t, err := http.ParseTime(s)
	return t, err == nil && slices.ContainsFunc([]string{http.TimeFormat, rfc850, time.ANSIC},
		func(layout string) bool { return t.Format(layout) == s })
}

// rfc850 is the obsolete format with GMT, the only zone that HTTP allows.
const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"

// atMost returns d, limited to the range from 0 to limit.
func atMost(d, limit time.Duration) time.Duration { return min(max(d, 0), limit) }
