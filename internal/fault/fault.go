// Package fault has the errors of a cache that callers compare with errors.Is, and inspects the tree of
// an error: which errors it contains, and what it keeps alive.
//
// The seam: the variables. The errors with types of their own belong to package cache, which makes
// them through [Faults].
package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Package cache exports and explains these errors.
var (
	// ErrUnavailable is of package invalidate, too.
	ErrUnavailable = errors.New("cache: remote tier or log out of reach")
	ErrNotFound    = errors.New("cache: not found")
	ErrMiss        = errors.New("cache: miss, and no loader")
	ErrNotModified = errors.New("cache: not modified")
	ErrDeclined    = errors.New("cache: the load declined to give a value")
	ErrOverloaded  = errors.New("cache: overloaded")
	ErrLoadTimeout = fmt.Errorf("cache: the load took longer than LoadTimeout: %w", context.DeadlineExceeded)
	ErrClosed      = errors.New("cache: closed")
	ErrRecursive   = errors.New("cache: a loader waits for itself")
	ErrGoexit      = errors.New("cache: loader called runtime.Goexit")
)

// Faults makes the errors that callers see. Their types belong to package cache.
type Faults interface {
	// Of wraps the error of an operation on a key or a scope.
	Of(op, key string, err error) error

	// Remembered returns a load error with its code to remember. err is nil if another process ran
	// the loader. Code returns the code of such an error, and "" for another one.
	Remembered(code string, err error) error
	Code(err error) string

	// Panicked returns the error of a loader's panic, with the stack of the caller. Stack returns
	// that stack.
	Panicked(p any) error
	Stack(err error) string
}

// coder is an error with a short stable code: cache.Coder.
type coder interface {
	error
	CacheCode() string
}

// IsCoder reports whether an error itself, not what it wraps, is a cache.Coder.
func IsCoder(err error) bool {
	_, ok := err.(coder) //nolint:errorlint // this one, not what it wraps
	return ok
}

// CodeOf returns the code under which an error is remembered.
func CodeOf(err error) string {
	if c, ok := errors.AsType[coder](err); ok {
		if code := c.CacheCode(); IsCode(code) {
			return code
		}
	}
	return "error"
}

// MaxCode is the longest code, in bytes.
const MaxCode = 64

// IsCode reports whether a code keeps what cache.Coder promises.
func IsCode(s string) bool {
	return s != "" && len(s) <= MaxCode && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// ErrBadCode means that a cell holds a code that no writer stores.
var ErrBadCode = fmt.Errorf("cache: the code of a remembered error is over %d bytes or not printable", MaxCode)

// ErrUsage marks errors about wrong calls. Its text is not shown.
var ErrUsage = errors.New("cache: wrong use")

// marked is an error that also matches another error, without that error's text.
type marked struct {
	error
	is error
}

// Mark returns err as an error that also matches is.
func Mark(err, is error) error { return marked{err, is} }

func (m marked) Is(target error) bool { return target == m.is }

func (m marked) Unwrap() error { return m.error }

// Ended returns why a context has ended: its Err, and the cause that the caller gave, if there is one. It returns nil
// while the context goes on.
func Ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// WrongUse marks an error about a wrong call.
func WrongUse(err error) error {
	if err == nil {
		return nil
	}
	return Mark(err, ErrUsage)
}

// answers are the errors of a loader whose source has not failed.
var answers = []error{ErrNotFound, ErrNotModified, ErrDeclined}

// Failed reports whether a load failed, also in part.
func Failed(err error) bool { return err != nil && !Only(err, answers...) }

// Unmixed returns a loader's error, without the answers in it if it also reports a failure. Otherwise a key that
// failed in part would be remembered as absent.
func Unmixed(err error) error {
	if err == nil || slices.ContainsFunc(answers, func(a error) bool { return Only(err, a) }) {
		return err
	}
	return Without(err, answers...)
}
