// Package call turns functions of JSON values into HTTP handlers, and checks the operator's key.
package call

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

const (
	maxBytes = 1 << 20 // the longest body of a request
	maxPage  = 10000   // the last page of a list: it limits how many different requests reach the database
)

// None is the input of a call without a body.
type None struct{}

// Created is the result of a call that created Body.
type Created struct{ Body any }

// Problem is an error for the caller.
type Problem struct {
	Status    int                  `json:"-"`
	Text      string               `json:"error"`
	Fields    []service.FieldError `json:"fields,omitempty"`
	Challenge []string             `json:"-"` // of a 401: the schemes of authentication
}

// Error returns the text.
func (p *Problem) Error() string { return p.Text }

// Do returns a handler of f. It answers 201 to Created, 204 to nil, and 200 to other results.
func Do[In any](log *slog.Logger, f func(r *http.Request, in In) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v any
		in, err := decode[In](w, r)
		if err == nil {
			v, err = f(r, in)
		}
		status := http.StatusOK
		if made, ok := v.(Created); ok {
			status, v = http.StatusCreated, made.Body
		}
		if e, ok := errors.AsType[*service.UnpublishedError](err); ok {
			log.ErrorContext(r.Context(), "a change was committed but not published", "method", r.Method, "path", r.URL.Path, "err", e.Err)
			status, err = http.StatusAccepted, nil // the write was committed
		}
		if err != nil {
			Fail(w, r, log, err)
			return
		}
		send(w, log, status, v)
	})
}

// decode reads the body of a request, which must be one JSON value without unknown fields.
func decode[In any](w http.ResponseWriter, r *http.Request) (in In, err error) {
	if _, none := any(in).(None); none {
		return in, nil
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return in, &Problem{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("the body is over %d bytes", maxBytes)}
		}
		return in, &Problem{Status: http.StatusBadRequest, Text: "the body does not have the JSON form of this call: " + err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, &Problem{Status: http.StatusBadRequest, Text: "the body continues after its JSON value"}
	}
	return in, nil
}

// Fail answers a request that failed with err. It logs errors that are not the caller's fault.
func Fail(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	p := &Problem{Status: http.StatusInternalServerError, Text: "something went wrong; the log has more"}
	invalid := new(service.InvalidError)
	switch {
	case errors.As(err, &p):
	case errors.As(err, &invalid):
		p = &Problem{Status: http.StatusUnprocessableEntity, Text: err.Error(), Fields: invalid.Fields}
	case errors.Is(err, content.ErrNotFound):
		p = &Problem{Status: http.StatusNotFound, Text: "not found"}
	default:
		log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	for _, challenge := range p.Challenge {
		w.Header().Add("WWW-Authenticate", challenge)
	}
	send(w, log, p.Status, p)
}

func send(w http.ResponseWriter, log *slog.Logger, status int, v any) {
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
		log.Error("a reply could not be encoded", "err", err)
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

// PageNumber returns the page number of a query.
func PageNumber(q url.Values) (int, error) {
	s := q.Get("page")
	if s == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxPage || strconv.Itoa(n) != s {
		return 0, &Problem{Status: http.StatusBadRequest, Text: fmt.Sprintf("page must be a number from 1 to %d", maxPage)}
	}
	return n, nil
}

// Guard checks the operator's key.
type Guard struct {
	Key   string // empty: no request has access
	Basic bool   // also accepts the key as the password of HTTP Basic, which browsers prompt for
	Log   *slog.Logger
}

// Has reports whether a request has the key. It compares hashes, so the time reveals nothing.
func (g Guard) Has(r *http.Request) bool {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if _, password, ok := r.BasicAuth(); ok && g.Basic {
		scheme, key = "Bearer", password
	}
	got, want := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(g.Key))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && g.Key != "" && strings.EqualFold(scheme, "Bearer")
}

// Wrap puts the guard in front of next. It forbids caching of all answers.
func (g Guard) Wrap(next http.Handler) http.Handler {
	refusal := &Problem{
		Status: http.StatusUnauthorized, Text: "send the admin key: Authorization: Bearer KEY", Challenge: []string{`Bearer realm="operator"`},
	}
	if g.Basic {
		refusal.Challenge = append(refusal.Challenge, `Basic realm="operator", charset="UTF-8"`)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if g.Has(r) {
			next.ServeHTTP(w, r)
			return
		}
		level := slog.LevelWarn
		if g.Basic && r.Header.Get("Authorization") == "" {
			level = slog.LevelDebug // a browser that has not asked for the password yet
		}
		g.Log.Log(r.Context(), level, "request refused: wrong or missing key", "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
		Fail(w, r, g.Log, refusal)
	})
}
