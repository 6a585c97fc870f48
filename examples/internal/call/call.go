// Package call turns functions of JSON values into HTTP handlers, reads the parameters of
// requests, checks the operator's key, and serves.
package call

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"
)

// API is what all calls of a program have in common.
type API struct {
	Log *slog.Logger // for errors that are not the caller's fault. Required
	// Explain returns what a caller should know about an error of the program. Nil means that the
	// error is not the caller's fault; then it goes only to the log. Explain may be nil.
	Explain func(err error) *Problem
	MaxBody int64 // of a request, in bytes. Zero means 1 MiB
}

// None is the input of a call without a body.
type None struct{}

// Created is the result of a call that created Body.
type Created struct{ Body any }

// Problem is an error for the caller. With a status below 400, the call succeeded with a
// reservation, which goes only to the log: the caller gets this status and the result.
type Problem struct {
	Status    int           `json:"-"`
	Text      string        `json:"error"`
	Fields    any           `json:"fields,omitempty"` // a reason for each wrong field
	Challenge []string      `json:"-"`                // of a 401: the schemes of authentication
	After     time.Duration `json:"-"`                // when to retry. Zero means unknown
}

// NotFound is the problem with something that does not exist.
var NotFound = &Problem{Status: http.StatusNotFound, Text: "not found"}

// Error returns the text.
func (p *Problem) Error() string { return p.Text }

// Bad returns a problem with a named part of the request.
func Bad(name, format string, args ...any) *Problem {
	return &Problem{Status: http.StatusBadRequest, Text: name + ": " + fmt.Sprintf(format, args...)}
}

// Do returns a handler of f. It answers 201 to Created, 204 to nil, and 200 to other results.
func Do[In any](a *API, f func(r *http.Request, in In) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v any
		in, err := decode[In](w, r, cmp.Or(a.MaxBody, 1<<20))
		if err == nil {
			v, err = f(r, in)
		}
		status := http.StatusOK
		if made, ok := v.(Created); ok {
			status, v = http.StatusCreated, made.Body
		}
		if err != nil {
			p := a.problem(err)
			if p.Status >= http.StatusBadRequest {
				a.Fail(w, r, err)
				return
			}
			a.Log.ErrorContext(r.Context(), p.Text, "method", r.Method, "path", r.URL.Path, "err", err)
			status = p.Status
		}
		a.send(w, status, v)
	})
}

// decode reads the body of a request.
func decode[In any](w http.ResponseWriter, r *http.Request, most int64) (in In, err error) {
	if _, none := any(in).(None); none {
		return in, nil
	}
	err = Strict(http.MaxBytesReader(w, r.Body, most), &in)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return in, &Problem{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("body: over %d bytes", most)}
	}
	if e, ok := errors.AsType[*FormError](err); ok {
		return in, Bad(cmp.Or(e.Field, "body"), "%.200s", e.Text)
	}
	if err != nil {
		return in, Bad("body", "cannot be read: %.200s", err) // the client sent it too slowly, or wrongly
	}
	return in, nil
}

func (a *API) problem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if a.Explain != nil {
		if p := a.Explain(err); p != nil {
			return p
		}
	}
	return &Problem{Status: http.StatusInternalServerError, Text: "something went wrong; the log has more"}
}

// Fail answers a request that failed with err. It logs errors that are not the caller's fault.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := a.problem(err)
	if p.Status == http.StatusInternalServerError {
		a.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	for _, challenge := range p.Challenge {
		w.Header().Add("WWW-Authenticate", challenge)
	}
	if p.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.After.Seconds()))))
	}
	a.send(w, p.Status, p)
}

func (a *API) send(w http.ResponseWriter, status int, v any) {
	if v == nil {
		if status == http.StatusOK {
			status = http.StatusNoContent
		}
		w.WriteHeader(status)
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the headers keep browsers from reading it as HTML
	if err := e.Encode(v); err != nil {
		a.Log.Error("a reply could not be encoded", "err", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	Send(w, status, "application/json", b.Bytes())
}

// Send writes a whole response.
func Send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has left
}

// List is the result of a call that lists things. An empty list is [], not null.
func List[T any](name string, all []T, err error) (any, error) {
	return map[string][]T{name: append([]T{}, all...)}, err
}
