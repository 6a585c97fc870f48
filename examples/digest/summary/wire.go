package summary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

const maxReply = 4 << 20

// wire sends requests for the client. It limits the answers, and turns failures into errors
// without the server's sentences.
type wire struct {
	*http.Client
	key string
}

// Do implements [openai.HTTPDoer].
func (w wire) Do(req *http.Request) (*http.Response, error) {
	res, err := w.Client.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read, or the rest does not matter
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case res.StatusCode != http.StatusOK:
		return nil, w.failure(res, body)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case len(body) > maxReply:
		return nil, fmt.Errorf("%w: over %d bytes", ErrResponse, maxReply)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

func (w wire) failure(res *http.Response, body []byte) error {
	said := gjson.GetBytes(body, "error") // a body that does not parse is ignored
	e := &ModelError{Status: res.StatusCode, Err: ErrRefused}
	for _, name := range []string{"type", "code", "param"} {
		if part := said.Get(name).Str; speakable(part) && (w.key == "" || !strings.Contains(part, w.key)) {
			e.Code = strings.TrimPrefix(e.Code+"/"+part, "/")
		}
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		e.Err = ErrRateLimited
	case e.Status >= 500 || e.Status == http.StatusRequestTimeout:
		e.Err = ErrUnavailable
	}
	if wait := fetch.RetryAfter(res.Header.Get("Retry-After"), time.Now()); wait > 0 {
		return fmt.Errorf("%w, %w", e, &backoff.RetryAfterError{Duration: wait})
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

func check(r openai.ChatCompletionResponse) error {
	if len(r.Choices) == 0 {
		return fmt.Errorf("%w: no choices", ErrResponse)
	}
	switch reason := string(r.Choices[0].FinishReason); {
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
