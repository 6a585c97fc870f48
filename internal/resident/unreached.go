package resident

import (
	"errors"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/remote"
)

// Unreached marks an error of a call to the remote tier or the log as ErrUnavailable, unless the
// caller gave up or the error already says so. If Close has ended the call, it is an ErrClosed.
func Unreached(err error) error {
	switch down := errors.Is(err, fault.ErrUnavailable); {
	case down && errors.Is(err, follow.ErrClosed):
		return fault.Mark(err, fault.ErrClosed)
	case err == nil, down, remote.Left(err), errors.Is(err, fault.ErrClosed):
		return err
	case errors.Is(err, follow.ErrClosed):
		return fault.ErrClosed
	}
	return fault.Mark(err, fault.ErrUnavailable)
}
