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
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxReply is the longest answer that is read, in bytes.
const maxReply = 4 << 20

// reply is what the server answers, as far as it matters.
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

// total trusts no number that makes no sense.
func (u usage) total() int64 { return max(u.Total, u.Prompt+u.Completion, 0) }

func (r reply) text() string { return r.Choices[0].Message.Content }

// again is a failure after which another try may help.
type again struct {
	err   error
	after *backoff.RetryAfterError // nil: the server does not say when
}

// Error returns the failure's text.
func (a *again) Error() string { return a.err.Error() }

// Unwrap returns the failure, and the wait for those who look for one.
func (a *again) Unwrap() []error {
	if a.after == nil {
		return []error{a.err}
	}
	return []error{a.err, a.after}
}

func encodeRequest(cfg OpenAIConfig, messages []message) ([]byte, error) {
	return json.Marshal(struct {
		Model       string    `json:"model"`
		Messages    []message `json:"messages"`
		MaxTokens   int       `json:"max_tokens"`
		Temperature float64   `json:"temperature"`
	}{cfg.Model, messages, cfg.OutputTokens, 0})
}

// try asks once. Its errors quote nothing that was sent or answered: servers repeat keys
// in their complaints.
func (o *OpenAI) try(ctx context.Context, body []byte) (r reply, err error) {
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
	defer res.Body.Close() //nolint:errcheck // it was read, or is not worth reading
	if err := status(res); err != nil {
		return r, err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
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

// lost is a connection that failed. When the caller has left, that is why.
func (o *OpenAI) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return backoff.Permanent(context.Cause(ctx))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address
	}
	return &again{err: fmt.Errorf("%w: %w", ErrUnavailable, err)}
}

// status makes an error of an answer that is no text.
func status(res *http.Response) error {
	switch code := res.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusTooManyRequests:
		return &again{err: fmt.Errorf("%w: status %d", ErrRateLimited, code), after: retryAfter(res)}
	case code >= 500 || code == http.StatusRequestTimeout:
		return &again{err: fmt.Errorf("%w: status %d", ErrUnavailable, code), after: retryAfter(res)}
	default:
		return backoff.Permanent(fmt.Errorf("%w: status %d", ErrRefused, code))
	}
}

// retryAfter reads the header of that name, which holds seconds or a date (RFC 9110,
// section 10.2.3); nil: there is none that can be read.
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

// check refuses an answer whose text is not whole.
func (r reply) check() error {
	if len(r.Choices) == 0 {
		return fmt.Errorf("%w: no choices", ErrResponse)
	}
	switch r.Choices[0].FinishReason {
	case "stop", "": // some servers do not say
		return nil
	case "length":
		return ErrTruncated
	default:
		return fmt.Errorf("%w: ended for another reason than its end", ErrRefused)
	}
}
