package cache

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/remote"
)

// Callers branch on these errors. Each is wrapped in an [*Error]; use errors.Is.
var (
	// ErrNotFound is what a loader returns, wrapped or not, when there is no value. The
	// absence is remembered for the policy's NegativeTTL. If a loader joins it with another
	// error, the load has failed and is not an ErrNotFound, because the value may exist. See
	// [NotFoundIs] for a database's own error.
	ErrNotFound = fault.ErrNotFound

	// ErrMiss means that no tier that could be asked holds the key and there is no loader.
	ErrMiss = fault.ErrMiss

	// ErrNotModified is what a loader returns when the value that it got from [Previous] is
	// still valid. The value gets a new lifetime.
	ErrNotModified = fault.ErrNotModified

	// ErrDeclined is what a loader returns, wrapped or not, when it has no value to share although its
	// source has not failed: for example, because the source's answer is for one caller only. All callers
	// that wait for the load get the error, and no old value in its place. It is not remembered. A stored
	// value stays as it is: if the load was a refresh, reads get the stale value as before, and the next
	// refresh begins after the policy's Throttle. If a loader joins it with another error, the load has
	// failed.
	ErrDeclined = fault.ErrDeclined

	// ErrOverloaded means that too many loads or flights were running or waiting.
	ErrOverloaded = fault.ErrOverloaded

	// ErrLoadTimeout means that the loader took longer than the policy's LoadTimeout. It wraps
	// context.DeadlineExceeded. A DeadlineExceeded without it is the caller's own deadline. A loader that
	// reads its own key under another context than its own waits for itself, and ends so.
	ErrLoadTimeout = fault.ErrLoadTimeout

	// ErrUnavailable means that the remote tier or the log could not be reached. Then Set,
	// Delete, Expire or Invalidate may not have reached other processes. Reads continue without
	// the tier: they load. An *invalidate.PendingError matches it.
	ErrUnavailable = fault.ErrUnavailable

	// ErrClosed means that the [Tiers] were closed, before the call or during it.
	ErrClosed = fault.ErrClosed

	// ErrTooLarge means that a value given to [Cache.Set] is over the policy's MaxValueBytes. It
	// also means that there is only a local tier and it has no room for the value. The key is still
	// invalidated.
	ErrTooLarge = remote.ErrTooLarge

	// ErrOption means that a call got an [Option] that it does not take, or an Option whose
	// value is out of range. The call did nothing.
	ErrOption = errors.New("cache: option refused")

	// ErrRecursive means that a loader read the key that it is loading, or a key whose loader waits
	// for it. The wait may lead through other loaders of this process. A loader may Set, Delete or
	// Expire its own key. A read counts from its call to its return, even in a goroutine that the
	// loader does not wait for.
	ErrRecursive = fault.ErrRecursive

	// ErrGoexit means that a loader ended its goroutine by runtime.Goexit, as t.FailNow does.
	ErrGoexit = fault.ErrGoexit
)

// Error wraps every error that a method of this package returns for a key or a scope.
type Error struct {
	Op  string // the method, lower case: "get", "set", "invalidate", …
	Key string // the full key, "tenant:namespace", or what names the scopes; "-" for none
	Err error
}

// Error returns "cache: op key: cause".
func (e *Error) Error() string {
	return fmt.Sprintf("cache: %s %s: %v", e.Op, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Coder is an error with a short stable code. If load errors are remembered (policy ErrorTTL),
// other processes learn only the code. The process that ran the loader keeps a Coder as it is.
// For other errors it keeps the text, the sentinels and small errors. The code of an error that
// is not a Coder is "error".
type Coder interface {
	error

	// CacheCode returns the code, 1 to 64 bytes of printable UTF-8. Any other text counts as
	// "error".
	CacheCode() string
}

// RememberedError is what a read returns while a load error is remembered.
type RememberedError struct {
	Code string // see [Coder]
	Err  error  // the loader's error, as Coder describes, in the process that ran it; nil elsewhere
}

// Error returns the code, and the loader's text if it is known.
func (e *RememberedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("cache: load failed a moment ago (%s): %v", e.Code, e.Err)
	}
	return fmt.Sprintf("cache: load failed a moment ago (%s)", e.Code)
}

// Unwrap returns Err.
func (e *RememberedError) Unwrap() error { return e.Err }

// PanicError is a loader's panic. Every caller that waits for the load panics with it.
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

// BatchError is the error of [Cache.GetMany], [Cache.SetMany] and [Cache.DeleteMany] when some
// keys failed. The other keys succeeded; GetMany returns their values.
type BatchError[K comparable] struct {
	Errs map[K]error // each is an [*Error]
}

// Error returns the number of failures and the text of one.
func (e *BatchError[K]) Error() string {
	for _, err := range e.Errs {
		if len(e.Errs) == 1 {
			return fmt.Sprintf("cache: 1 key failed: %v", err)
		}
		return fmt.Sprintf("cache: %d keys failed, one of them: %v", len(e.Errs), err)
	}
	return "cache: no key failed"
}

// Unwrap returns the errors, in no particular order.
func (e *BatchError[K]) Unwrap() []error {
	errs := make([]error, 0, len(e.Errs))
	for _, err := range e.Errs {
		errs = append(errs, err)
	}
	return errs
}

var errZeroCache = fault.WrongUse(errors.New("the zero Cache; make one with New"))

// errZero returns the error of a method of the zero Cache.
func errZero(op string) error { return &Error{Op: op, Key: "-", Err: errZeroCache} }

// faults makes the errors of the engine.
type faults struct{}

func (faults) Of(op, key string, err error) error { return &Error{Op: op, Key: key, Err: err} }

func (faults) Remembered(code string, err error) error { return &RememberedError{Code: code, Err: err} }

func (faults) Code(err error) string {
	if e, ok := errors.AsType[*RememberedError](err); ok {
		return e.Code
	}
	return ""
}

// Panicked keeps the innermost stack if a loader panics because a load that it waited for did.
func (faults) Panicked(p any) error {
	if pe, ok := p.(*PanicError); ok {
		return pe
	}
	return &PanicError{Value: p, Stack: debug.Stack()}
}

func (faults) Stack(err error) string {
	e, _ := errors.AsType[*PanicError](err)
	return string(e.Stack)
}
