package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// panicError is a panic of a fetcher.
type panicError struct{ value any }

// Error does not show the value, which may quote what the source sent.
func (e *panicError) Error() string { return fmt.Sprintf("the fetcher panicked with a %T", e.value) }

// kinds are the words for what can go wrong.
var kinds = []struct {
	err  error
	word string
}{
	{fetch.ErrDeadHost, "dead_host"},
	{fetch.ErrPrivateAddress, "private_address"},
	{fetch.ErrRobots, "robots"},
	{fetch.ErrRedirectLoop, "redirect_loop"},
	{fetch.ErrTooManyRedirects, "redirects"},
	{fetch.ErrTooLarge, "too_large"},
	{fetch.ErrTruncated, "truncated"},
	{fetch.ErrEncoding, "encoding"},
	{fetch.ErrTimeout, "timeout"},
	{fetch.ErrBusy, "busy"},
	{fetch.ErrConnect, "connect"},
	{fetch.ErrProtocol, "protocol"},
	{fetch.ErrURL, "url"}, {fetch.ErrScheme, "url"}, {fetch.ErrPort, "url"},
	{fetch.ErrHeader, "config"},
	{fetchers.ErrParse, "parse"},
	{context.DeadlineExceeded, "timeout"},
}

// kindOf says in a word and in a line what went wrong. The line is made of errors that
// keep queries, headers and bodies out of their texts; of others nothing is shown.
func kindOf(err error) (kind, text string) {
	if e, ok := errors.AsType[*fetch.StatusError](err); ok {
		return "status", e.Error()
	}
	if e, ok := errors.AsType[*fetchers.ConfigError](err); ok {
		return "config", e.Error()
	}
	if e, ok := errors.AsType[*panicError](err); ok {
		return "panic", e.Error()
	}
	e, ok := errors.AsType[*fetch.Error](err)
	if ok {
		err = e.Kind // a cause further down the chain may be of another kind
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			kind, text = k.word, k.err.Error()
			break
		}
	}
	if ok {
		text = e.Error()
	}
	return cmp.Or(kind, "other"), cmp.Or(text, "the fetch failed")
}
