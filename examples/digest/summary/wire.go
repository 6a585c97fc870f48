package summary

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const maxReply = 4 << 20

// limited bounds what is read of an answer.
func limited(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxReply)
	}
	return res, err
}

// failure returns a reason without the server's sentences. res is the last answer, or nil.
func (o *OpenAI) failure(res *http.Response, err error) error {
	switch {
	case res == nil || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: no answer", ErrUnavailable)
	case res.StatusCode == http.StatusOK:
		return fmt.Errorf("%w: not the JSON expected", ErrResponse)
	}
	e := &ModelError{Status: res.StatusCode, Err: ErrRefused}
	if said, ok := errors.AsType[*openai.Error](err); ok {
		for _, part := range []string{said.Type, said.Code, said.Param} {
			if speakable(part) && (o.cfg.APIKey == "" || !strings.Contains(part, o.cfg.APIKey)) {
				e.Code = strings.TrimPrefix(e.Code+"/"+part, "/")
			}
		}
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		e.Err = ErrRateLimited
	case e.Status >= 500 || e.Status == http.StatusRequestTimeout:
		e.Err = ErrUnavailable
	}
	return e
}

// speakable reports whether a part of an error message is a name. A sentence is not,
// because it may repeat the request.
func speakable(s string) bool {
	return s != "" && len(s) <= 40 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '.' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

func check(r *openai.ChatCompletion) error {
	if len(r.Choices) == 0 {
		return fmt.Errorf("%w: no choices", ErrResponse)
	}
	switch reason := r.Choices[0].FinishReason; {
	case reason == "stop" || reason == "": // some servers do not set it
		return nil
	case reason == "length":
		return ErrTruncated
	case speakable(reason):
		return &ModelError{Status: http.StatusOK, Code: reason, Err: ErrRefused}
	}
	return fmt.Errorf("%w: the text did not end normally", ErrRefused)
}

// The reasons for a missing digest.
var (
	ErrRequest     = errors.New("summary: bad request")
	ErrEmpty       = errors.New("summary: empty text")
	ErrTruncated   = errors.New("summary: text cut off")
	ErrLinks       = errors.New("summary: text with links that are not of an item")
	ErrRateLimited = errors.New("summary: the model's server wants no requests")
	ErrUnavailable = errors.New("summary: model unavailable")
	ErrRefused     = errors.New("summary: model refused the request")
	ErrResponse    = errors.New("summary: unreadable response")
	ErrConfig      = errors.New("summary: bad configuration")
)

// ModelError is a server's error answer. It holds only names: sentences may repeat key or prompt.
type ModelError struct {
	Status int    // HTTP status
	Code   string // the server's names of the error, such as "invalid_request_error/unsupported_value/temperature"
	Err    error  // ErrRefused, ErrRateLimited or ErrUnavailable
}

// Error returns the reason, the status and the code.
func (e *ModelError) Error() string {
	text := fmt.Sprintf("%v: status %d", e.Err, e.Status)
	if e.Code != "" {
		text += ", code " + e.Code
	}
	return text
}

// Unwrap returns Err.
func (e *ModelError) Unwrap() error { return e.Err }

// RateLimitError is [ErrRateLimited] with the end of the pause.
type RateLimitError struct {
	Until time.Time
	Err   error // the server's answer, or nil if no request was sent
}

// Error gives the end of the pause, and the reason.
func (e *RateLimitError) Error() string {
	text := fmt.Sprintf("%v until %s", ErrRateLimited, e.Until.UTC().Format(time.RFC3339))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [ErrRateLimited].
func (e *RateLimitError) Unwrap() error { return ErrRateLimited }

// CacheCode implements cache.Coder.
func (e *RateLimitError) CacheCode() string { return "rate-limited" }
