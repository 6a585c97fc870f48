package summary_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

// server replaces the network, so that time in a bubble is virtual.
type server struct {
	answers []answer // the last one is repeated
	asked   []*http.Request
	bodies  []string
	at      []time.Time
}

// answer is one answer. Without status and err it is a good text.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
	hang   bool // until the request is cancelled
}

func good(text string) string {
	return fmt.Sprintf(`{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`, text)
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	s.asked, s.bodies, s.at = append(s.asked, r), append(s.bodies, string(body)), append(s.at, time.Now())
	a := s.answers[min(len(s.asked), len(s.answers))-1]
	if a.hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if a.err != nil {
		return nil, a.err
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.body == "" {
		a.body = good("# Today\n\n- [Bridge](https://harbour.example/bridge?id=(7)) reopens")
	}
	header := http.Header{"Content-Type": {"application/json"}}
	maps.Copy(header, a.header)
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

const secret = "sk-hush-123"

func (s *server) client(t *testing.T, change func(c *summary.OpenAIConfig)) *summary.OpenAI {
	t.Helper()
	cfg := summary.OpenAIConfig{BaseURL: "https://llm.example/v1/", APIKey: secret, Model: "m-1", Client: &http.Client{Transport: s}}
	if change != nil {
		change(&cfg)
	}
	o, err := summary.NewOpenAI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func after(value string) http.Header { return http.Header{"Retry-After": {value}} }

func TestOpenAI(t *testing.T) {
	const times = 4 // tries, unless configured
	for _, tt := range []struct {
		name    string
		answers []answer
		want    error
		tries   int
		tokens  int64
		took    func(d time.Duration) bool // virtual time; nil: none
	}{
		{"at once", []answer{{}}, nil, 1, 120, nil},
		{"after a failure", []answer{{status: 503}, {err: errors.New("reset")}, {}}, nil, 3, 120, func(d time.Duration) bool { return d > 0 && d < 5*time.Second }},
		{"after a while", []answer{{status: 429, header: after("7")}, {}}, nil, 2, 120, func(d time.Duration) bool { return d == 7*time.Second }},
		{"after a date", []answer{{status: 503, header: after("Sat, 01 Jan 2000 00:00:30 GMT")}, {}}, nil, 2, 120, func(d time.Duration) bool { return d == 30*time.Second }},
		{"unavailable for good", []answer{{status: 500}}, summary.ErrUnavailable, times, 0, func(d time.Duration) bool { return d > 0 }},
		{"limited for good", []answer{{status: 429}}, summary.ErrRateLimited, times, 0, func(d time.Duration) bool { return d > 0 }},
		{"limited for longer than anybody waits", []answer{{status: 429, header: after("3600")}}, summary.ErrRateLimited, 1, 0, nil},
		{"a wait that makes no sense", []answer{{status: 429, header: after("-1")}, {}}, nil, 2, 120, func(d time.Duration) bool { return d < 2*time.Second }},
		{"wrong key", []answer{{status: 401, body: `{"error":"bad key ` + secret + `"}`}}, summary.ErrRefused, 1, 0, nil},
		{"sent elsewhere", []answer{{status: 307, header: http.Header{"Location": {"https://evil.example"}}}}, summary.ErrRefused, 1, 0, nil},
		{"cut off", []answer{{body: strings.Replace(good("# Today"), `"stop"`, `"length"`, 1)}}, summary.ErrTruncated, 1, 120, nil},
		{"filtered", []answer{{body: strings.Replace(good("# Today"), `"stop"`, `"content_filter"`, 1)}}, summary.ErrRefused, 1, 120, nil},
		{"empty", []answer{{body: good(" \n")}}, summary.ErrEmpty, 1, 120, nil},
		{"no choices", []answer{{body: `{"choices":[]}`}}, summary.ErrResponse, 1, 0, nil},
		{"no JSON", []answer{{body: `<html>` + secret}}, summary.ErrResponse, 1, 0, nil},
		{"no end", []answer{{body: strings.Repeat("x", 5<<20)}}, summary.ErrResponse, 1, 0, nil},
		{"hangs", []answer{{hang: true}}, summary.ErrUnavailable, 1, 0, func(d time.Duration) bool { return d == time.Minute }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the bubble starts at midnight on 1 January 2000
				s := &server{answers: tt.answers}
				start := time.Now()
				got, err := s.client(t, nil).Summarise(t.Context(), request())
				if !errors.Is(err, tt.want) || len(s.asked) != tt.tries || got.Tokens != tt.tokens {
					t.Errorf("Summarise = %d tokens, %v after %d tries; want %d, %v after %d", got.Tokens, err, len(s.asked), tt.tokens, tt.want, tt.tries)
				}
				if (got.Markdown == "") != (err != nil) {
					t.Errorf("text %q beside %v", got.Markdown, err)
				}
				if err != nil && (strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "llm.example")) {
					t.Errorf("the error tells %v", err)
				}
				if d := time.Since(start); tt.took == nil && d != 0 || tt.took != nil && !tt.took(d) {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}

// The form of a request.
func TestOpenAIRequest(t *testing.T) {
	s := &server{answers: []answer{{body: good("# 今日\n\n- [Bridge](https://harbour.example/bridge?id=%287%29) and [more](https://evil.example)")}}}
	r := request()
	r.Language, r.Style = summary.Chinese, summary.Brief
	got, err := s.client(t, nil).Summarise(t.Context(), r)
	if err != nil || got.Model != "m-1" || got.Dropped != 1 || got.Items != len(r.Items) || strings.Contains(got.Markdown, "evil.example") {
		t.Errorf("Summarise = %+v, %v", got, err)
	}
	req := s.asked[0]
	if req.Method != http.MethodPost || req.URL.String() != "https://llm.example/v1/chat/completions" || req.Header.Get("Authorization") != "Bearer "+secret {
		t.Errorf("asked %s %s with %q", req.Method, req.URL, req.Header)
	}
	var body struct {
		Model     string
		MaxTokens int `json:"max_completion_tokens"`
		Messages  []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(s.bodies[0]), &body); err != nil {
		t.Fatal(err)
	}
	if body.Model != "m-1" || body.MaxTokens != summary.DefaultOutputTokens || len(body.Messages) != 2 {
		t.Errorf("the body says %+v", body)
	}
	if !strings.Contains(body.Messages[0].Content, "Simplified Chinese") || strings.Contains(body.Messages[0].Content, "Harbour") {
		t.Errorf("the system's message is %s", body.Messages[0].Content)
	}
	// An item stays data, whatever its text says.
	var data struct {
		Items []struct{ Source, Title, Address, Text string }
	}
	if err := json.Unmarshal([]byte(body.Messages[1].Content), &data); err != nil || len(data.Items) != len(r.Items) {
		t.Errorf("the request has %d items, %v", len(data.Items), err)
	}
}

// The error has the server's names of the problem, and nothing of the request.
func TestOpenAISaysWhy(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"no model m-1 for ` + secret + `","type":"invalid_request_error","code":"model_not_found","param":null}}`: "code invalid_request_error/model_not_found",
		`{"error":{"message":"x","type":"Harbour bridge reopens","code":"` + secret + `","param":"messages"}}`:                         "code messages",
		`{"error":"` + secret + `"}`:                        "status 404",
		`{"error":{"code":404,"message":"` + secret + `"}}`: "code 404",
		`<html>`: "status 404",
	} {
		s := &server{answers: []answer{{status: 404, body: body}}}
		_, err := s.client(t, nil).Summarise(t.Context(), request())
		e, ok := errors.AsType[*summary.ModelError](err)
		if !ok || e.Status != 404 || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "Harbour") {
			t.Errorf("%s: %v, want %q and no more", body, err, want)
		}
	}
	quota := &server{answers: []answer{{status: 429, header: after("3600"), body: `{"error":{"type":"insufficient_quota"}}`}}}
	if _, err := quota.client(t, nil).Summarise(t.Context(), request()); !errors.Is(err, summary.ErrRateLimited) || !strings.Contains(err.Error(), "insufficient_quota") {
		t.Errorf("out of quota: %v", err)
	}
}

// During a pause that the server asked for, or after repeated failures, no request is sent.
func TestOpenAIIsLeftAlone(t *testing.T) {
	t.Run("as long as it says", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answers: []answer{{status: 429, header: after("600")}, {}}}
			o := s.client(t, nil)
			_, err := o.Summarise(t.Context(), request())
			limit, ok := errors.AsType[*summary.RateLimitError](err)
			if !ok || time.Until(limit.Until) != 10*time.Minute || limit.CacheCode() == "" {
				t.Fatalf("Summarise = %v, want a limit of ten minutes", err)
			}
			wait(9 * time.Minute)
			if _, err := o.Summarise(t.Context(), request()); !errors.Is(err, summary.ErrRateLimited) || len(s.asked) != 1 {
				t.Errorf("within the limit: %v after %d tries", err, len(s.asked))
			}
			wait(time.Minute)
			if _, err := o.Summarise(t.Context(), request()); err != nil {
				t.Errorf("after the limit: %v", err)
			}
		})
	})
	t.Run("but not for years", func(t *testing.T) {
		for _, header := range []string{"2147483647", "Fri, 31 Dec 2099 23:59:59 GMT"} {
			synctest.Test(t, func(t *testing.T) {
				s := &server{answers: []answer{{status: 429, header: after(header)}, {}}}
				o := s.client(t, nil)
				if _, err := o.Summarise(t.Context(), request()); !errors.Is(err, summary.ErrRateLimited) {
					t.Errorf("%s: %v", header, err)
				}
				wait(time.Hour)
				if _, err := o.Summarise(t.Context(), request()); err != nil {
					t.Errorf("%s: an hour later: %v", header, err)
				}
			})
		}
	})
	t.Run("after failures", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answers: []answer{{status: 500}, {status: 500}, {status: 500}, {status: 500}, {}}}
			o := s.client(t, nil)
			for n, want := range []error{summary.ErrUnavailable, summary.ErrRateLimited, summary.ErrRateLimited} {
				if _, err := o.Summarise(t.Context(), request()); !errors.Is(err, want) {
					t.Errorf("Summarise %d = %v, want %v", n, err, want)
				}
			}
			if len(s.asked) != 4 {
				t.Errorf("asked %d times, want four", len(s.asked))
			}
			wait(30 * time.Second)
			if _, err := o.Summarise(t.Context(), request()); err != nil {
				t.Errorf("half a minute later: %v", err)
			}
		})
	})
}

func wait(d time.Duration) { <-time.After(d) }
