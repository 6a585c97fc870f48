package engine

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
	"github.com/twofold-go/twofold/internal/wire"
)

// Package cache exports and explains these errors.
var (
	ErrNotFound    = errors.New("cache: not found")
	ErrMiss        = errors.New("cache: miss, and no loader")
	ErrNotModified = errors.New("cache: not modified")
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

// ErrUsage marks errors about wrong calls. Its text is not shown.
var ErrUsage = errors.New("cache: wrong use")

// WrongUse marks an error about a wrong call.
func WrongUse(err error) error {
	if err == nil {
		return nil
	}
	return wire.Mark(err, ErrUsage)
}

// unreached marks an error of a call to the remote tier or the log as ErrUnavailable, unless the
// caller gave up or the error already says so.
func unreached(err error) error {
	switch {
	case err == nil, remote.Left(err), errors.Is(err, unavailable.Err), errors.Is(err, ErrClosed):
		return err
	case errors.Is(err, follow.ErrClosed):
		return ErrClosed
	}
	return wire.Mark(err, unavailable.Err)
}

// isFailure reports whether a load failed, and did not only find nothing new.
func isFailure(err, panicked error) bool {
	return panicked != nil || (err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNotModified))
}
