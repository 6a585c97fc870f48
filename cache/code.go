package cache

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// codes are the codes of errors. The first one that applies counts: first what the caller can
// repair, then what it cannot, then ordinary outcomes.
var codes = []struct {
	is   error
	code string
}{
	{fault.ErrUsage, "usage"},
	{key.ErrEmpty, "key"},
	{key.ErrTooLong, "key"},
	{key.ErrSeparator, "key"},
	{key.ErrCharacter, "key"},
	{key.ErrEscape, "key"},
	{key.ErrType, "key"},
	{key.ErrNumber, "key"},
	{key.ErrUTF8, "key"},
	{invalidate.ErrScope, "scope"},
	{remote.ErrTooLarge, "value_too_large"},
	{codec.ErrTooLarge, "value_too_large"},
	{remote.ErrEncode, "codec"},
	{codec.ErrValue, "codec"},
	{codec.ErrType, "codec"},
	{codec.ErrCorrupt, "codec"},
	{fault.ErrClosed, "closed"},
	{fault.ErrRecursive, "recursive"},
	{fault.ErrGoexit, "goexit"},
	{fault.ErrOverloaded, "overloaded"},
	{fault.ErrLoadTimeout, "load_timeout"},
	{ErrUnavailable, "unavailable"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "canceled"},
	{fault.ErrMiss, "miss"},
	{fault.ErrNotModified, "not_modified"},
	{fault.ErrDeclined, "declined"},
	{fault.ErrNotFound, "not_found"},
}

// Code returns a short name for the error, for metrics and for programs that branch on it. A
// code never changes its meaning:
//
//	not_found        ErrNotFound
//	miss             ErrMiss
//	not_modified     ErrNotModified, from a loader that has no Previous
//	declined         ErrDeclined
//	overloaded       ErrOverloaded
//	closed           ErrClosed
//	load_timeout     ErrLoadTimeout
//	unavailable      ErrUnavailable, *invalidate.PendingError included
//	recursive        ErrRecursive
//	goexit           ErrGoexit
//	value_too_large  ErrTooLarge
//	codec            the value does not encode
//	key              the key, tenant or namespace is not valid
//	scope            a tag or another scope is not valid
//	usage            a wrong option or argument, or the zero Cache
//	canceled         a context ended: the caller's, or one that the loader made
//	load_failed      the loader returned another error
//
// If several apply, Code returns the first in a fixed order: what the caller can repair, what it
// cannot, ordinary outcomes. If Load joins ErrNotFound with other errors, the key counts as absent,
// and so the code is not_found.
func (e *Error) Code() string {
	for _, c := range codes {
		if errors.Is(e.Err, c.is) {
			return c.code
		}
	}
	return "load_failed"
}
