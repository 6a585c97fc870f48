package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/unavailable"
)

// The errors callers branch on. Each arrives inside an [*Error] and is reached
// with errors.Is.
var (
	// ErrNotFound is what a loader returns (alone or wrapped) to say that there
	// is no value. It is remembered for the policy's NegativeTTL.
	ErrNotFound = errors.New("cache: not found")

	// ErrMiss means that nothing is cached and there is no loader.
	ErrMiss = errors.New("cache: miss, and no loader")

	// ErrNotModified is what a loader returns to say that the value it got from
	// [Previous] still stands; its lifetime starts anew.
	ErrNotModified = errors.New("cache: not modified")

	// ErrOverloaded means that too many loads were running or waiting.
	ErrOverloaded = errors.New("cache: overloaded")

	// ErrLoadTimeout means that the loader took longer than the policy's LoadTimeout. It is
	// a context.DeadlineExceeded, too; that alone is the caller's own.
	ErrLoadTimeout = fmt.Errorf("cache: the load took longer than LoadTimeout: %w", context.DeadlineExceeded)

	// ErrUnavailable means that the remote tier or the log could not be reached, so that Set,
	// Delete, Expire or Invalidate may not have come through to other processes. Reads go on
	// without: they load. An *invalidate.PendingError is one, too.
	ErrUnavailable = unavailable.Err

	// ErrClosed means that the [Tiers] were closed.
	ErrClosed = errors.New("cache: closed")

	// ErrTooLarge means that [Cache.Set] was given a value over the policy's
	// MaxValueBytes. The key is invalidated all the same.
	ErrTooLarge = errors.New("cache: value too large")

	// ErrOption means that a call was given an [Option] that it does not take or whose value
	// is out of range. Nothing was done.
	ErrOption = errors.New("cache: option refused")

	// ErrRecursive means that a loader read, directly or through other
	// loaders, the very key it is loading, or one whose loader waits for it. It may
	// Set, Delete or Expire the key. A read counts from its call to its return, also in a
	// goroutine that the loader does not wait for.
	ErrRecursive = errors.New("cache: a loader waits for itself")

	// ErrGoexit means that a loader ended its goroutine by runtime.Goexit, as
	// t.FailNow does.
	ErrGoexit = errors.New("cache: loader called runtime.Goexit")
)

// Error is what every method of this package returns for a key or a scope.
type Error struct {
	Op  string // the method, lower case: "get", "set", "invalidate", …
	Key string // full key, or "tenant:namespace" when there is no one key
	Err error
}

// Error returns "cache: op key: cause".
func (e *Error) Error() string {
	return fmt.Sprintf("cache: %s %s: %v", e.Op, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Coder is an error that has a short stable code. When load errors are
// remembered (policy ErrorTTL), the code is what other processes learn
// of it; the text stays in the process that ran the loader, which keeps a Coder as it is,
// and of other errors no more than text, sentinels and small ones. The code of any other
// error is "error".
type Coder interface {
	error

	// CacheCode returns the code, of 1 to 64 bytes. Another length counts as "error".
	CacheCode() string
}

// RememberedError is what a read returns while a load error is remembered.
type RememberedError struct {
	Code string // see [Coder]
	Err  error  // what the loader's error said, in the process that ran it; nil elsewhere. See Coder
}

// Error returns the code, and the loader's own text where it is known.
func (e *RememberedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("cache: load failed a moment ago (%s): %v", e.Code, e.Err)
	}
	return fmt.Sprintf("cache: load failed a moment ago (%s)", e.Code)
}

// Unwrap returns Err.
func (e *RememberedError) Unwrap() error { return e.Err }

// PanicError is what a loader's panic becomes: every caller that waits for the
// load panics with it.
type PanicError struct {
	Value any    // what the loader panicked with
	Stack []byte // the loader's stack
}

// Error returns the value and the loader's stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("cache: loader panicked: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns the value the loader panicked with, if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// BatchError is what [Cache.GetMany], [Cache.SetMany] and [Cache.DeleteMany] return when
// some keys failed. The others are done; GetMany returns their values beside it.
type BatchError[K comparable] struct {
	Errs map[K]error // each an [*Error]
}

// Error counts the failures and gives one of them.
func (e *BatchError[K]) Error() string {
	for _, err := range e.Errs {
		return fmt.Sprintf("cache: %d keys failed, one of them: %v", len(e.Errs), err)
	}
	return "cache: no key failed"
}

// Unwrap returns the errors, in no order.
func (e *BatchError[K]) Unwrap() []error {
	errs := make([]error, 0, len(e.Errs))
	for _, err := range e.Errs {
		errs = append(errs, err)
	}
	return errs
}

func isCoder(err error) bool {
	_, ok := err.(Coder) //nolint:errorlint // this one, not what it wraps
	return ok
}

func codeOf(err error) string {
	if c, ok := errors.AsType[Coder](err); ok {
		if code := c.CacheCode(); code != "" && len(code) <= maxCode {
			return code
		}
	}
	return "error"
}

const maxCode = 64

var errZeroCache = wrongUse(errors.New("the zero Cache; make one with New"))

var errNoLoader = wrongUse(errors.New("argument load is nil, and so are Load and LoadMany of the Config: pass a loader or set one of them"))

// errZero is what every method of the zero Cache returns.
func errZero(op string) error { return &Error{Op: op, Key: "-", Err: errZeroCache} }
