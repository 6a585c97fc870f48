package call_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/twofold-go/twofold/examples/internal/call"
)

var (
	errTaken = errors.New("taken")
	errLate  = errors.New("written, but the log does not answer")
)

type input struct {
	Name string `json:"name"`
	Sizes
}

type Sizes struct {
	Size int       `json:"size"`
	At   time.Time `json:"at"`
	List []struct {
		On bool `json:"on"`
	} `json:"list"`
}

// api answers calls whose error is chosen by the name in the input.
func api(log *strings.Builder) *call.API {
	return &call.API{
		Log: slog.New(slog.NewTextHandler(log, nil)), MaxBody: 60,
		Explain: func(err error) *call.Problem {
			switch {
			case errors.Is(err, errTaken):
				return &call.Problem{Status: http.StatusConflict, Text: "taken", After: 1500 * time.Millisecond, Fields: []string{"name"}}
			case errors.Is(err, errLate):
				return &call.Problem{Status: http.StatusAccepted, Text: "late"}
			}
			return nil
		},
	}
}

func TestDo(t *testing.T) {
	results := map[string]struct {
		v   any
		err error
	}{
		"ok": {v: map[string]int{"n": 1}}, "made": {v: call.Created{Body: 7}}, "gone": {},
		"taken": {err: errTaken}, "late": {v: "x", err: errLate}, "broken": {err: errors.New("secret")},
		"bad": {err: call.Bad("name", "%d characters", 3)}, "odd": {v: func() {}},
	}
	for _, tt := range []struct {
		body   string
		status int
		text   string // in the answer
		logged string // in the log; empty: nothing is logged
	}{
		{`{"name": "ok"}`, 200, `{"n":1}`, ""},
		{`{"name": "made"}`, 201, "7", ""},
		{`{"name": "gone"}`, 204, "", ""},
		{`{"name": "taken"}`, 409, `{"error":"taken","fields":["name"]}`, ""},
		{`{"name": "late"}`, 202, `"x"`, "late"},
		{`{"name": "broken"}`, 500, "the log has more", "secret"},
		{`{"name": "bad"}`, 400, "name: 3 characters", ""},
		{`{"name": "odd"}`, 500, "", "could not be encoded"},
		{`{"nam": "ok"}`, 400, `body: unknown field \"nam\"`, ""},
		{`{"size": "a long secret"}`, 400, `{"error":"size: a JSON string, want a whole number"}`, ""},
		{`{"size": 1e99}`, 400, "size: a JSON number, want a whole number", ""},
		{`{"at": "a secret"}`, 400, `{"error":"at: want a time as in RFC 3339, such as 2026-02-25T08:00:00Z"}`, ""},
		{`{"at": 5}`, 400, "at: want a time as in RFC 3339", ""},
		{`{"list": [{"on": 0}]}`, 400, "list.on: a JSON number, want true or false", ""},
		{`{"list": {}}`, 400, "list: a JSON object, want an array", ""},
		{`[]`, 400, "body: a JSON array, want an object", ""},
		{"{\n\"size\":\nx}", 400, "body: not JSON in line 3: invalid character", ""},
		{"{\"name\": \"a\n\"}", 400, "body: not JSON in line 1: invalid character", ""},
		{"{\n\"name\": 5}", 400, "name: a JSON number in line 2, want a string", ""},
		{`{"name": `, 400, "body: ends within its JSON value", ""},
		{`{"name": "ok"} {}`, 400, "continues", ""},
		{``, 400, `{"error":"body: empty, want an object"}`, ""},
		{`{"name": "` + strings.Repeat("x", 60) + `"}`, 413, "over 60 bytes", ""},
	} {
		var log strings.Builder
		h := call.Do(api(&log), func(_ *http.Request, in input) (any, error) {
			r := results[in.Name]
			return r.v, r.err
		})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tt.body)))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s: %d %s, want %d %s", tt.body, w.Code, w.Body, tt.status, tt.text)
		}
		if !strings.Contains(log.String(), tt.logged) || (tt.logged == "") != (log.Len() == 0) {
			t.Errorf("%s: the log is %q, want %q", tt.body, log.String(), tt.logged)
		}
		if after := w.Header().Get("Retry-After"); (after == "2") != (tt.status == http.StatusConflict) {
			t.Errorf("%s: Retry-After is %q", tt.body, after)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: the answer shows %s", tt.body, w.Body)
		}
	}
}

// A body that does not arrive is the client's fault, and is not logged.
func TestBrokenBody(t *testing.T) {
	var log strings.Builder
	h := call.Do(api(&log), func(*http.Request, input) (any, error) { return nil, nil })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(errors.New("malformed chunk"))))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "body: cannot be read: malformed chunk") || log.Len() > 0 {
		t.Errorf("%d %s, log %q", w.Code, w.Body, log.String())
	}
}

func TestQuery(t *testing.T) {
	for _, tt := range []struct{ query, fault string }{
		{"", ""},
		{"n=7&day=2026-02-25&text=x", ""},
		{"day=2026-02-25T10:00:00Z", ""},
		{"n=0", "n: 1 characters, want a whole number from 1 to 9"},
		{"n=07", "n: 2 characters"},
		{"n=%2B7", "n: 2 characters"},
		{"n=10", "n: 2 characters"},
		{"n=", "n: 1 values, want one that is not empty"},
		{"n=1&n=2", "n: 2 values"},
		{"m=1", `query: unknown parameter "m", this call takes [n day text]`},
		{"n=%zz", "query: does not parse"},
		{"day=yesterday", "day: 9 characters, want a date"},
	} {
		q := call.QueryOf(httptest.NewRequest(http.MethodGet, "/?"+tt.query, nil), "n", "day", "text")
		n, day := q.Number("n", 5, 1, 9), q.Time("day", time.UTC)
		if got := errText(q.Err()); !strings.HasPrefix(got, tt.fault) || (got == "") != (tt.fault == "") {
			t.Errorf("%q: %q, want %q", tt.query, got, tt.fault)
		}
		if tt.query == "" && (n != 5 || !day.IsZero()) {
			t.Errorf("absent parameters are %d, %v", n, day)
		}
		if strings.Contains(tt.query, "n=7") && (n != 7 || day.Day() != 25 || q.Text("text") != "x") {
			t.Errorf("%q: %d, %v, %q", tt.query, n, day, q.Text("text"))
		}
	}
	q := call.AnyQueryOf(httptest.NewRequest(http.MethodGet, "/?m=1&page=3", nil))
	if n := q.Page(); n != 3 || q.Err() != nil {
		t.Errorf("Page = %d, %v; want 3", n, q.Err())
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestGuard(t *testing.T) {
	served := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		key, header string
		basic       bool
		status      int
	}{
		{"k", "Bearer k", false, 200},
		{"k", "bearer k", false, 200},
		{"k", "Basic dTpr", true, 200}, // u:k
		{"k", "Basic dTpr", false, 401},
		{"k", "Bearer x", true, 401},
		{"k", "", false, 401},
		{"", "Bearer ", false, 401},
	} {
		var log strings.Builder
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", tt.header)
		call.Guard{API: api(&log), Key: tt.key, Basic: tt.basic}.Wrap(served).ServeHTTP(w, r)
		if w.Code != tt.status || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("key %q, %q: %d %v, want %d", tt.key, tt.header, w.Code, w.Header(), tt.status)
		}
		if challenges := len(w.Header()["Www-Authenticate"]); tt.status == 401 && (challenges == 2) != tt.basic {
			t.Errorf("key %q, %q: %d challenges", tt.key, tt.header, challenges)
		}
	}
}
