package summary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const maxReply = 4 << 20

// form describes how a request is written. Models and servers use different names for the
// limit, and some refuse a temperature.
type form struct {
	Limit       string // newLimit or oldLimit
	Temperature *float64
}

const newLimit, oldLimit = "max_completion_tokens", "max_tokens"

type reply struct {
	Choices []struct {
		Message      message `json:"message"`
		FinishReason string  `json:"finish_reason"`
	} `json:"choices"`
	Usage usage `json:"usage"`
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// total ignores numbers that make no sense.
func (u usage) total() int64 { return max(u.Total, u.Prompt+u.Completion, 0) }

// try sends one request. Its errors omit the server's messages, which may repeat prompt and key.
func (o *OpenAI) try(ctx context.Context, messages []message, f form) (r reply, err error) {
	fields := map[string]any{"model": o.cfg.Model, "messages": messages, f.Limit: o.cfg.OutputTokens}
	if f.Temperature != nil {
		fields["temperature"] = *f.Temperature
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return r, backoff.Permanent(err)
	}
	limited, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, o.endpoint, bytes.NewReader(body))
	if err != nil {
		return r, backoff.Permanent(ErrConfig)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if o.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+o.cfg.APIKey)
	}
	res, err := o.cfg.Client.Do(req)
	if err != nil {
		return r, o.lost(ctx, err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read, or the rest does not matter
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case res.StatusCode != http.StatusOK:
		return r, o.status(res, data)
	case err != nil:
		return r, o.lost(ctx, err)
	case len(data) > maxReply:
		return r, backoff.Permanent(fmt.Errorf("%w: over %d bytes", ErrResponse, maxReply))
	case json.Unmarshal(data, &r) != nil:
		return reply{}, backoff.Permanent(fmt.Errorf("%w: %d bytes that are not the JSON expected", ErrResponse, len(data)))
	}
	if err := r.check(); err != nil {
		return r, backoff.Permanent(err)
	}
	return r, nil
}

func (o *OpenAI) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return backoff.Permanent(context.Cause(ctx))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (o *OpenAI) status(res *http.Response, body []byte) error {
	var said struct {
		Error struct {
			Message, Type, Param string
			Code                 any // text, or a number
		}
	}
	_ = json.Unmarshal(body, &said) // a body that does not parse is ignored
	e := &ModelError{Status: res.StatusCode, message: said.Error.Message + " " + said.Error.Param, Err: ErrRefused}
	code, _ := said.Error.Code.(string)
	for _, part := range []string{said.Error.Type, code, said.Error.Param} {
		if speakable(part) && (o.cfg.APIKey == "" || !strings.Contains(part, o.cfg.APIKey)) {
			e.Code = strings.TrimPrefix(e.Code+"/"+part, "/")
		}
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		e.Err = ErrRateLimited
	case e.Status >= 500 || e.Status == http.StatusRequestTimeout:
		e.Err = ErrUnavailable
	default:
		return backoff.Permanent(e)
	}
	if after := retryAfter(res); after != nil {
		return fmt.Errorf("%w, %w", e, after)
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

// retryAfter reads seconds or a date (RFC 9110, section 10.2.3), or returns nil.
func retryAfter(res *http.Response) *backoff.RetryAfterError {
	h := res.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(h, 10, 31); err == nil {
		return &backoff.RetryAfterError{Duration: time.Duration(seconds) * time.Second}
	}
	if at, err := http.ParseTime(h); err == nil {
		return &backoff.RetryAfterError{Duration: max(time.Until(at), 0)}
	}
	return nil
}

func (r reply) check() error {
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
	Status  int    // HTTP status
	Code    string // the server's names of the error, such as "invalid_request_error/unsupported_value/temperature"
	Err     error  // ErrRefused, ErrRateLimited or ErrUnavailable
	message string // the server's message; never shown
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
func (e *ModelError) Unwrap() error           { return e.Err }
func (e *ModelError) about(field string) bool { return strings.Contains(e.message, field) }

// RateLimitError is [ErrRateLimited] with the end of the pause.
type RateLimitError struct {
	Until time.Time
	Err   error // the server's answer; nil: no request was sent
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
