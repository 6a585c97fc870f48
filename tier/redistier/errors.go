package redistier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ready says whether a call may go on.
func (t *Tier) ready(ctx context.Context, op string) error {
	if t.err != nil {
		return fail(op, t.err)
	}
	if t.rdb == nil {
		return fail(op, ErrNoClient)
	}
	if err := ctx.Err(); err != nil {
		return fail(op, err)
	}
	return nil
}

// rescue is deferred around every use of the client library, which panics on
// some nonsensical replies. It leaves the other results as they are.
func rescue(op string, err *error) {
	if p := recover(); p != nil {
		*err = fail(op, panicked(p))
	}
}

// panicked turns the value of a panic into an error. Of values other than the
// runtime's it tells the type only: they may hold anything.
func panicked(p any) error {
	if err, ok := p.(runtime.Error); ok {
		return fmt.Errorf("%w: client panicked: %w", ErrReply, err)
	}
	return fmt.Errorf("%w: client panicked with a %T", ErrReply, p)
}

// fail names the operation.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redistier: %s: %w", op, safe(err))
}

// safe lets through the errors known to be free of replies and arguments. The
// client library quotes what it cannot parse, which may be part of a value, and
// a server that does not know a command quotes its arguments.
func safe(err error) error {
	if isServerError(err) {
		text, _, quoted := strings.Cut(err.Error(), ", with args beginning with:")
		if !hasCode(text) {
			return fmt.Errorf("%w: error without a code", ErrReply)
		}
		if quoted {
			return errors.New(text)
		}
		return err
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return err
	}
	for _, known := range []error{
		context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		redis.ErrClosed, redis.ErrPoolExhausted, redis.ErrPoolTimeout,
		ErrReply, ErrReplySize, ErrNonce, ErrTooLarge, errLengths,
		ErrPrefix, ErrNoClient, ErrClient, ErrRing, ErrReplicaReads, ErrClientCache,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%w (%T)", ErrReply, err)
}

// isServerError reports whether the server answered, by an error.
func isServerError(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// hasCode reports whether text starts as Redis' errors do: with a word of
// capitals.
func hasCode(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	if code == "" {
		return false
	}
	for _, c := range code {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}
