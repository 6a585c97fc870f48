package store

import (
	"errors"

	"github.com/twofold-go/twofold/internal/failure"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/unavailable"
	"github.com/twofold-go/twofold/internal/wire"
)

// Unreached marks an error of a call to the remote tier or the log as ErrUnavailable, unless the
// caller gave up or the error already says so. If Close has ended the call, it is an ErrClosed.
func Unreached(err error) error {
	switch down := errors.Is(err, unavailable.Err); {
	case down && errors.Is(err, follow.ErrClosed):
		return wire.Mark(err, failure.ErrClosed)
	case err == nil, down, remote.Left(err), errors.Is(err, failure.ErrClosed):
		return err
	case errors.Is(err, follow.ErrClosed):
		return failure.ErrClosed
	}
	return wire.Mark(err, unavailable.Err)
}
