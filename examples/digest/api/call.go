package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/manage"
	"github.com/twofold-go/twofold/examples/digest/store"
)

const maxBytes = 64 << 10

type request struct {
	*http.Request
	who    caller
	params map[string]string // the parameters of the request; none is empty
	id     int64             // from the path
	err    error             // of the first wrong parameter
}

type call func(r *request) (any, error)

func body[In any](fn func(r *request, in In) (any, error)) call {
	return func(r *request) (any, error) {
		var in In
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return nil, undecoded(err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, bad("body", "continues after its JSON value")
		}
		return fn(r, in)
	}
}

func list[T any](name string, all []T, err error) (any, error) {
	return map[string][]T{name: append([]T{}, all...)}, err
}

type problem struct {
	Status int           `json:"-"`
	Text   string        `json:"error"`
	After  time.Duration `json:"-"` // when to retry; 0: unknown
}

func (p *problem) Error() string { return p.Text }

func bad(about, format string, args ...any) error {
	return &problem{Status: http.StatusBadRequest, Text: about + ": " + fmt.Sprintf(format, args...)}
}

func (a *api) handle(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := a.answer(w, r, rt)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		a.send(w, http.StatusOK, answer)
	})
}

func (a *api) answer(w http.ResponseWriter, r *http.Request, rt route) (any, error) {
	who, err := a.identify(r)
	if err == nil {
		err = who.check(rt.need)
	}
	if err != nil {
		return nil, err
	}
	params, err := query(r, rt.params)
	if err != nil {
		return nil, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBytes)
	req := &request{Request: r, who: who, params: params}
	for _, name := range []string{"id", "source"} {
		if s := r.PathValue(name); s != "" {
			if req.id, err = strconv.ParseInt(s, 10, 64); err != nil || req.id < 1 {
				return nil, bad(name, "%d characters, want a positive number", len(s))
			}
		}
	}
	return rt.call(req)
}

func query(r *http.Request, known []string) (map[string]string, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("query", "does not parse")
	}
	params := map[string]string{}
	for name, v := range values {
		if !slices.Contains(known, name) {
			return nil, bad("query", "unknown parameter %.40q, this call takes %v", name, known)
		}
		if len(v) != 1 || v[0] == "" {
			return nil, bad(name, "%d values, want one that is not empty", len(v))
		}
		params[name] = v[0]
	}
	return params, nil
}

func undecoded(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &problem{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("body: over %d bytes", maxBytes)}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ") // drop the digits that follow "number"
		return bad(cmp.Or(e.Field, "body"), "a JSON %s, want %s", kind, e.Type)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return bad("body", "unknown field %.40s", name)
	}
	return bad("body", "not one whole JSON object")
}

func (r *request) count(name string, unset, least, most int) int {
	s, ok := r.params[name]
	if !ok {
		return unset
	}
	n, err := strconv.Atoi(s)
	if (err != nil || n < least || n > most) && r.err == nil {
		r.err = bad(name, "%d characters, want a whole number from %d to %d", len(s), least, most)
	}
	return n
}

const anyNumber = math.MaxInt

func (r *request) date(name string, zone *time.Location) time.Time {
	s, ok := r.params[name]
	if !ok {
		return time.Time{}
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil && r.err == nil {
		r.err = bad(name, "%d characters, want a date such as 2026-02-25 or a time as in RFC 3339", len(s))
	}
	return t
}

// refuse answers with an error. Errors that are not the caller's fault go only to the log.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := errors.AsType[*problem](err)
	field, wrong := errors.AsType[*manage.FieldError](err)
	switch {
	case ok && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden):
		a.Log.WarnContext(r.Context(), "request refused", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", `Bearer realm="digest"`)
	case ok && p.After > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.After.Seconds()))))
	case ok:
	case wrong:
		p = &problem{Status: http.StatusBadRequest, Text: field.Error()}
	case errors.Is(err, store.ErrTaken):
		p = &problem{Status: http.StatusConflict, Text: "the email or the slug belongs to another user"}
	case errors.Is(err, store.ErrNotFound):
		p = &problem{Status: http.StatusNotFound, Text: "not found, or not visible to you"}
	default:
		a.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		p = &problem{Status: http.StatusInternalServerError, Text: "something went wrong; the log has more"}
	}
	a.send(w, p.Status, p)
}

func (a *api) send(w http.ResponseWriter, status int, answer any) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.Log.Debug("the answer was not sent", "err", err) // the client has left: our own types always encode
	}
}
