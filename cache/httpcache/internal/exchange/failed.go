package exchange

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
)

// Failure is a load that got no response, or a failure of the source. An older page may replace it.
type Failure struct {
	Page *page.Page // nil: there is none
	Mine bool       // not for everybody
	Err  error      // of a server that did not answer
}

// CacheCode makes failure a cache.Coder: the error is remembered with its page.
func (f *Failure) CacheCode() string { return "status" }

func (f *Failure) Error() string {
	if f.Err != nil {
		return f.Err.Error()
	}
	return "httpcache: the origin answered " + http.StatusText(f.Page.Status)
}

func (f *Failure) Unwrap() error { return f.Err }

// Cause returns the error inside the library's error, which names the key.
func Cause(err error) error {
	if e, ok := errors.AsType[*cache.Error](err); ok {
		return e.Err
	}
	return err
}

// repanic returns what to panic with after a handler panicked. For http.ErrAbortHandler and for
// Goexit it is http.ErrAbortHandler, otherwise an error with the handler's own stack.
func repanic(err error) any {
	p, ok := errors.AsType[*cache.PanicError](err)
	if !ok || errors.Is(p, http.ErrAbortHandler) {
		return http.ErrAbortHandler
	}
	return p
}

// LogPanic logs a panic that no client notices.
func (k *Core) LogPanic(p *cache.PanicError) {
	if p == nil || errors.Is(p, http.ErrAbortHandler) {
		return
	}
	// Log the stack, but not the panic value: it may hold data.
	k.Logger.Error("httpcache: a handler panicked, and an older page is served", "stack", string(p.Stack))
}

// refusal is the error of a refresh whose response may not be stored, or that leaves the page. The old page
// stays.
type refusal struct {
	why  reason.Reason
	left *page.Page // from Left: it leads to our client's variant; or nil
}

func (e *refusal) Error() string { return "httpcache: a refresh was refused: " + e.why.String() }

// Unwrap says that the source has not failed.
func (e *refusal) Unwrap() error { return cache.ErrDeclined }

// Left returns the result of a read. If its load has failed as a refresh that was refused, the result is a page
// that says so. If the load has left the page, it is the page, which leads to the variant of our client.
func Left(res cache.Result[*page.Page], err error) (cache.Result[*page.Page], error) {
	if f, ok := errors.AsType[*refusal](err); ok {
		return cache.Result[*page.Page]{Value: cmp.Or(f.left, page.Refusing(f.why)), Source: cache.Load}, nil
	}
	return res, err
}
