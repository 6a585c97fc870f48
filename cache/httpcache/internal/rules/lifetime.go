package rules

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// MaxSeconds is the longest time that is counted. Longer times count as this one (RFC 9111
// §1.2.2).
const (
	MaxSeconds  = math.MaxInt32
	MaxLifetime = MaxSeconds * time.Second
)

// Cache says how a cache computes lifetimes. It does not change.
type Cache struct {
	Shared   bool     // a cache for several users: s-maxage and proxy-revalidate count
	Pages    bool     // no-store counts beside must-understand, too
	Targets  []string // canonical names of the fields for this cache (RFC 9213); the first has priority
	Fallback Fallback
}

// Lifetime is how long a response may be used, by what it says (RFC 9111 §4.2, RFC 5861, RFC
// 9213). All times are between 0 and MaxLifetime.
type Lifetime struct {
	Age          time.Duration // on arrival (RFC 9111 §4.2.3)
	Total        time.Duration // since it was generated: on arrival it stays fresh for Total-Age
	Stale        time.Duration // after Total, while it is refreshed
	StaleIfError time.Duration // after Total, in place of a failure

	Explicit   bool // the response names Total; 0 if that is unreadable
	Asks       bool // no-cache: revalidate before every use
	Strict     bool // must-revalidate and the like: never served stale
	NoStore    bool // also by must-understand if the status is not understood
	Private    bool
	Public     bool
	Authorized bool // a shared cache may store it although its request had Authorization (RFC 9111 §3.5)
	Immutable  bool // RFC 8246
	Bad        bool // something in Cache-Control is not a directive, so its meaning is unknown
}

// Lifetime computes the lifetime of a response whose header has canonical names. The request
// was sent at asked; the header arrived at received.
//
// Only the first target field that is readable and not empty counts. Without one, Cache-Control
// and Expires count, and Pragma if there is no Cache-Control. Of a repeated directive the least
// argument counts. An unreadable argument counts as 0.
func (r *Cache) Lifetime(status int, h http.Header, asked, received time.Time) Lifetime {
	date, ok := ParseDate(h.Get("Date"))
	if !ok {
		date = received // RFC 9110 §6.6.1
	}
	l := Lifetime{Age: initialAge(h["Age"], date, asked, received)}
	d, targeted := r.target(h)
	if !targeted {
		d, ok = ParseCacheControl(h["Cache-Control"])
		l.Bad = !ok
	}
	l.read(d, r, status)
	if !targeted && !Has(h, "Cache-Control") && Lists(h["Pragma"], "no-cache") {
		l.Asks = true
	}
	r.freshness(&l, d, targeted, h, date, status)
	if !l.Asks && !l.Strict {
		l.Stale = d.Duration("stale-while-revalidate", r.Fallback.Stale)
		l.StaleIfError = d.Duration("stale-if-error", r.Fallback.StaleIfError)
	}
	return l
}

// read copies the directives that are not about times.
func (l *Lifetime) read(d Directives, by *Cache, status int) {
	l.Asks = d.Has("no-cache")
	l.Private, l.Public, l.Immutable = d.Has("private"), d.Has("public"), d.Has("immutable")
	l.Strict = d.Has("must-revalidate") || by.Shared && (d.Has("proxy-revalidate") || d.Has("s-maxage"))
	l.Authorized = l.Public || d.Has("must-revalidate") || d.Has("s-maxage")
	if d.Has("must-understand") && !by.Pages {
		l.NoStore = !understood(status) // no-store is for caches that do not know must-understand
	} else {
		l.NoStore = d.Has("no-store")
	}
}

// freshness computes the lifetime since the response was generated (RFC 9111 §4.2.1).
func (r *Cache) freshness(l *Lifetime, d Directives, targeted bool, h http.Header, date time.Time, status int) {
	l.Explicit = true
	switch {
	case r.Shared && d.Has("s-maxage"):
		l.Total = d.Duration("s-maxage", 0)
	case d.Has("max-age"):
		l.Total = d.Duration("max-age", 0)
	case !targeted && Has(h, "Expires"):
		l.Total = MaxLifetime
		for _, line := range h["Expires"] {
			end, ok := ParseDate(line)
			if !ok { // most often "0" (RFC 9111 §5.3)
				end = date
			}
			l.Total = min(l.Total, AtMost(end.Sub(date), MaxLifetime))
		}
	default:
		l.Explicit = false
		if HeuristicallyCacheable(status) || l.Public { // RFC 9111 §4.2.2
			l.Total = AtMost(r.Fallback.heuristic(h.Get("Last-Modified"), date), MaxLifetime)
		}
	}
}

// Usable reports whether a stored response with header h can answer a request: for some time, or
// after it was revalidated (RFC 9111 §3, §4.3). A cache may store it only if it names a lifetime, is public
// or has a status that is heuristically cacheable, whatever the Fallback says.
func (l *Lifetime) Usable(status int, h http.Header) bool {
	if !l.Explicit && !l.Public && !HeuristicallyCacheable(status) {
		return false
	}
	fresh, stale, staleIfError := l.Left()
	return fresh > 0 || stale > 0 || staleIfError > 0 || Has(h, "Etag") || Has(h, "Last-Modified")
}

// Reusable reports whether the response says that it may be reused for others.
func (l *Lifetime) Reusable() bool { return l.Total > 0 || l.Public && !l.Explicit }

// target returns the directives of the first target field that has any. Arguments are spelled as
// in Cache-Control. An argument of a type that no directive takes is unreadable.
func (r *Cache) target(h http.Header) (Directives, bool) {
	for _, name := range r.Targets {
		if !Has(h, name) {
			continue
		}
		dict, err := httpsfv.UnmarshalDictionary(h[name])
		if err != nil || len(dict.Names()) == 0 {
			continue
		}
		var d Directives
		for _, directive := range dict.Names() {
			m, _ := dict.Get(directive)
			if arg, ok := argument(m); ok {
				d = append(d, Directive{directive, arg})
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
	apparent := AtMost(received.Truncate(time.Second).Sub(date), MaxLifetime)
	var said time.Duration
	if len(lines) > 0 {
		first, _, _ := strings.Cut(lines[0], ",")
		if n, ok := seconds(strings.TrimSpace(first)); ok {
			said = time.Duration(n) * time.Second
		}
	}
	return max(apparent, AtMost(said+AtMost(received.Sub(asked), MaxLifetime), MaxLifetime))
}

// Left returns how long a response that has just arrived may be used: fresh, then stale while it
// is refreshed, then in place of a failure.
func (l *Lifetime) Left() (fresh, stale, staleIfError time.Duration) {
	end := l.Total - l.Age
	if l.Asks {
		return 0, 0, 0
	}
	late := min(end, 0)
	return max(end, 0), max(l.Stale+late, 0), max(l.StaleIfError+late, 0)
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
	return HeuristicallyCacheable(status)
}

// ParseDate reads a date in one of the three formats of HTTP (RFC 9110 §5.6.7). Package time
// accepts more, such as an hour of one digit. Such a date is invalid here.
func ParseDate(s string) (at time.Time, ok bool) {
	if s == "" {
		return at, false // without the errors of package time
	}
	t, err := http.ParseTime(s)
	return t, err == nil && slices.ContainsFunc([]string{http.TimeFormat, rfc850, time.ANSIC},
		func(layout string) bool { return t.Format(layout) == s })
}

// rfc850 is the obsolete format with GMT, the only zone that HTTP allows.
const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"

// AtMost returns d, limited to the range from 0 to limit.
func AtMost(d, limit time.Duration) time.Duration { return min(max(d, 0), limit) }

// Fallback is httpcache.Fallback with its defaults.
type Fallback struct {
	TTL, Stale, StaleIfError time.Duration
	Heuristic                float64
	MaxHeuristic             time.Duration
}

// heuristic returns the lifetime of a response that names none, and that was generated at date.
func (f *Fallback) heuristic(lastModified string, date time.Time) time.Duration {
	if m, ok := ParseDate(lastModified); ok && f.Heuristic > 0 {
		// In seconds: a float can hold every time in seconds.
		since := max(float64(date.Unix()-m.Unix()), 0)
		return AtMost(time.Duration(min(since*f.Heuristic, MaxSeconds)*float64(time.Second)), f.MaxHeuristic)
	}
	return f.TTL
}
