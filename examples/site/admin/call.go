package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/service"
)

// maxBytes is the most that a request may bring.
const maxBytes = 1 << 20

// nothing is the body of a call that takes none.
type nothing struct{}

// reply is what a call answers. Its zero value says that there is nothing to say.
type reply struct {
	status int // 0: 200, or 204 without a body
	body   any
}

// problem is an error that the caller is told of.
type problem struct {
	Status int                  `json:"-"`
	Text   string               `json:"error"`
	Fields []service.FieldError `json:"fields,omitempty"`
}

func (p *problem) Error() string { return p.Text }

// do makes a handler of a call that takes an In.
func do[In any](a *api, call func(ctx context.Context, r *http.Request, in In) (reply, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var out reply
		in, err := decode[In](w, r)
		if err == nil {
			out, err = call(r.Context(), r, in)
		}
		if e, ok := errors.AsType[*service.UnpublishedError](err); ok {
			// It is written: the caller gets what it asked for, and a status that says
			// that not all has happened yet.
			a.log.ErrorContext(r.Context(), "change not published", "method", r.Method, "path", r.URL.Path, "err", e.Err)
			out.status, err = http.StatusAccepted, nil
		}
		if err != nil {
			a.refuse(w, a.explain(r, err))
			return
		}
		a.send(w, out)
	})
}

// decode reads the body of a request, which must be one JSON value of known fields.
func decode[In any](w http.ResponseWriter, r *http.Request) (in In, err error) {
	if _, none := any(in).(nothing); none {
		return in, nil
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return in, &problem{Status: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("the body is over %d bytes", maxBytes)}
		}
		return in, &problem{Status: http.StatusBadRequest, Text: "the body is not the JSON that this call takes: " + err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, &problem{Status: http.StatusBadRequest, Text: "the body goes on after its JSON value"}
	}
	return in, nil
}

// explain returns what the caller is told of err.
func (a *api) explain(r *http.Request, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*service.InvalidError](err); ok {
		return &problem{http.StatusUnprocessableEntity, e.Error(), e.Fields}
	}
	if errors.Is(err, content.ErrNotFound) {
		return &problem{Status: http.StatusNotFound, Text: "not found"}
	}
	a.log.ErrorContext(r.Context(), "admin request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	return &problem{Status: http.StatusInternalServerError, Text: "something went wrong; the log has more"}
}

func (a *api) refuse(w http.ResponseWriter, p *problem) { a.send(w, reply{p.Status, p}) }

func (a *api) send(w http.ResponseWriter, out reply) {
	if out.body == nil {
		if out.status == 0 {
			out.status = http.StatusNoContent
		}
		w.WriteHeader(out.status)
		return
	}
	b, err := json.Marshal(out.body)
	if err != nil { // of our own types: not the caller's fault, nor a state to go on from
		a.log.Error("reply does not encode", "err", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if out.status == 0 {
		out.status = http.StatusOK
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(out.status)
	_, _ = w.Write(append(b, '\n')) // who does not read it any more needs no telling
}

// id returns the id in the path.
func id(r *http.Request) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, content.ErrNotFound
	}
	return n, nil
}
