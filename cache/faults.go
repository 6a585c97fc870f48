package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/unavailable"
)

// Package cache exports and explains these errors.
var (
	errNotFound_    = errors.New("cache: not found")
	errMiss_        = errors.New("cache: miss, and no loader")
	errNotModified_ = errors.New("cache: not modified")
	errOverloaded_  = errors.New("cache: overloaded")
	errLoadTimeout_ = fmt.Errorf("cache: the load took longer than LoadTimeout: %w", context.DeadlineExceeded)
	errClosed_      = errors.New("cache: closed")
	errRecursive_   = errors.New("cache: a loader waits for itself")
	errGoexit_      = errors.New("cache: loader called runtime.Goexit")
)

// faults makes the errors that callers see. Their types belong to package cache.
type faults_ interface {
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

func isCoder(err error) bool {
	_, ok := err.(coder) //nolint:errorlint // this one, not what it wraps
	return ok
}

func codeOf(err error) string {
	if c, ok := errors.AsType[coder](err); ok {
		if code := c.CacheCode(); isCode(code) {
			return code
		}
	}
	return "error"
}

const maxCode = 64

// isCode reports whether a code keeps what cache.Coder promises.
func isCode(s string) bool {
	return s != "" && len(s) <= maxCode && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

var errBadCode = fmt.Errorf("cache: the code of a remembered error is over %d bytes or not printable", maxCode)

// errUsage marks errors about wrong calls. Its text is not shown.
var errUsage = errors.New("cache: wrong use")

func wrongUse(err error) error {
	if err == nil {
		return nil
	}
	return mark(err, errUsage)
}

// unreached marks an error of a call to the remote tier or the log as ErrUnavailable, unless the
// caller gave up or the error already says so.
func unreached(err error) error {
	switch {
	case err == nil, remote.Left(err), errors.Is(err, unavailable.Err), errors.Is(err, errClosed_):
		return err
	case errors.Is(err, follow.ErrClosed):
		return errClosed_
	}
	return mark(err, unavailable.Err)
}

// isFailure reports whether a load failed, and did not only find nothing new.
func isFailure(err, panicked error) bool {
	return panicked != nil || (err != nil && !errors.Is(err, errNotFound_) && !errors.Is(err, errNotModified_))
}
