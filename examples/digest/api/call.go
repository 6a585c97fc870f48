package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// maxBytes is the most that a request may bring.
const maxBytes = 64 << 10

// request is what a call is given.
type request struct {
	*http.Request
	who    caller
	params map[string]string // those that were sent; none is empty
}

// problem is an error that the caller is told of.
type problem struct {
	Status int           `json:"-"`
	Text   string        `json:"error"`
	After  time.Duration `json:"-"` // when to try again; 0: not said
}

func (p *problem) Error() string { return p.Text }

// bad is a problem with what a request says: about names the field or parameter.
func bad(about, format string, args ...any) error {
	return &problem{Status: http.StatusBadRequest, Text: about + ": " + fmt.Sprintf(format, args...)}
}

// handle makes a handler of a route.
func (a *api) handle(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := a.answer(w, r, rt)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		a.send(w, http.StatusOK, body)
	})
}

func (a *api) answer(w http.ResponseWriter, r *http.Request, rt route) (any, error) {
	who, err := a.identify(r)
	if err != nil {
		return nil, err
	}
	if err := who.check(rt.need); err != nil {
		return nil, err
	}
	params, err := query(r, rt.params)
	if err != nil {
		return nil, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBytes)
	return rt.call(request{Request: r, who: who, params: params})
}

// query reads the parameters of a request strictly: each is known, is there once, and
// says something. [url.URL.Query] would drop what does not parse, without a word.
func query(r *http.Request, known []string) (map[string]string, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("query", "does not parse")
	}
	params := map[string]string{}
	for name, v := range values {
		switch {
		case len(known) == 0:
			return nil, bad("query", "unknown parameter %.40q, this call takes none", name)
		case !slices.Contains(known, name):
			return nil, bad("query", "unknown parameter %.40q, want %s", name, strings.Join(known, ", "))
		case len(v) != 1 || v[0] == "":
			return nil, bad(name, "%d values, want one that is not empty", len(v))
		}
		params[name] = v[0]
	}
	return params, nil
}

// decode reads the body of a request, which must be one JSON value of known fields.
func decode[In any](r request) (in In, err error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, undecoded(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, bad("body", "goes on after its JSON value")
	}
	return in, nil
}

// undecoded says what is wrong with a body, without quoting its values.
func undecoded(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &problem{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("body: over %d bytes", maxBytes)}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(e.Value, " ") // of a number, the digits follow
		about := e.Field
		if about == "" {
			about = "body"
		}
		return bad(about, "a JSON %s, want %s", kind, e.Type)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return bad("body", "unknown field %.40s", name)
	}
	return bad("body", "not one whole JSON object")
}

// number reads a positive number in the path.
func number(r request, name string) (int64, error) {
	s := r.PathValue(name)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, bad(name, "%d characters, want a positive number", len(s))
	}
	return n, nil
}

// refuse answers with an error; those that are not the caller's go to the log alone.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := errors.AsType[*problem](err)
	switch {
	case ok && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden):
		a.Log.WarnContext(r.Context(), "request refused", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", `Bearer realm="digest"`)
	case ok && p.After > 0:
		w.Header().Set("Retry-After", strconv.FormatInt(int64((p.After+time.Second-1)/time.Second), 10))
	case ok:
	case errors.Is(err, store.ErrNotFound):
		p = &problem{Status: http.StatusNotFound, Text: "not found, or not yours to see"}
	default:
		a.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		p = &problem{Status: http.StatusInternalServerError, Text: "something went wrong; the log has more"}
	}
	a.send(w, p.Status, p)
}

func (a *api) send(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil { // of our own types: not the caller's fault, nor a state to go on from
		a.Log.Error("answer does not encode", "err", err)
		status, b = http.StatusInternalServerError, []byte(`{"error":"something went wrong; the log has more"}`)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // who does not read it any more needs no telling
}
