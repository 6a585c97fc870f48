package call

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// MaxPage is the last page of a list. It limits how many different requests reach a database.
const MaxPage = 10000

// Query holds the parameters of a request. Its methods remember the first fault for Err. It
// must not be used concurrently.
type Query struct {
	values url.Values
	err    error
}

// QueryOf returns the parameters of r. A parameter is a fault if it is not one of names, is empty
// or comes twice.
func QueryOf(r *http.Request, names ...string) *Query {
	q := AnyQueryOf(r)
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		q.Fault("query", "does not parse")
	}
	for name, v := range q.values {
		if !slices.Contains(names, name) {
			q.Fault("query", "unknown parameter %.40q, this call takes %v", name, names)
		} else if len(v) != 1 || v[0] == "" {
			q.Fault(name, "%d values, want one that is not empty", len(v))
		}
	}
	return q
}

// AnyQueryOf returns the parameters of r. It does not check their names. A cache that
// leaves unknown parameters out of its keys needs it.
func AnyQueryOf(r *http.Request) *Query { return &Query{values: r.URL.Query()} }

// Text returns a parameter. It is empty if the parameter is absent.
func (q *Query) Text(name string) string { return q.values.Get(name) }

// Number returns a whole number from least to most, or unset if the parameter is absent.
func (q *Query) Number(name string, unset, least, most int) int {
	s := q.Text(name)
	if s == "" {
		return unset
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most || strconv.Itoa(n) != s {
		q.Fault(name, "%d characters, want a whole number from %d to %d", len(s), least, most)
	}
	return n
}

// Page returns the number of a page of a list. The first is 1.
func (q *Query) Page() int { return q.Number("page", 1, 1, MaxPage) }

// Time returns a date in zone or an RFC 3339 time. It is zero if the parameter is absent.
func (q *Query) Time(name string, zone *time.Location) time.Time {
	s := q.Text(name)
	if s == "" {
		return time.Time{}
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		q.Fault(name, "%d characters, want a date such as 2026-02-25 or a time as in RFC 3339", len(s))
	}
	return t
}

// Fault remembers that a parameter is wrong.
func (q *Query) Fault(name, format string, args ...any) {
	if q.err == nil {
		q.err = Bad(name, format, args...)
	}
}

// Err returns the first fault as a [*Problem], or nil.
func (q *Query) Err() error { return q.err }

// ID returns the number in a part of the path.
func ID(r *http.Request, name string) (int64, error) {
	s := r.PathValue(name)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, Bad(name, "%d characters, want a positive number", len(s))
	}
	return n, nil
}
