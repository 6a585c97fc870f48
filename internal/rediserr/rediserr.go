// Package rediserr makes the errors of go-redis and Redis safe for logs. The client library quotes
// input that it cannot parse, which may be part of a value. A server may quote the arguments that
// it received. Neither may leave the adapters.
package rediserr

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// plain are foreign errors whose texts contain no data.
var plain = []error{
	context.Canceled, context.DeadlineExceeded,
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted,
}

// Safe returns err if its text is known to contain no replies or arguments. Otherwise it returns a
// safe description. known are the adapter's own errors; reply is its error for unreadable replies.
func Safe(err, reply error, known ...error) error {
	if harmless(err, known) {
		return err
	}
	if !FromServer(err) || errors.Is(err, redis.Nil) {
		return fmt.Errorf("%w (%T)", reply, err)
	}
	text, _, quotes := strings.Cut(err.Error(), ", with args beginning with:")
	if !hasCode(text) {
		return fmt.Errorf("%w: error without a code", reply)
	}
	if quotes {
		return errors.New(text)
	}
	return err
}

// FromServer reports whether the server answered with an error.
func FromServer(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// harmless reports whether err occurred before there was a reply, or does not quote it. The client
// library puts quotations in quotation marks.
func harmless(err error, known []error) bool {
	for _, list := range [][]error{known, plain} {
		for _, k := range list {
			if errors.Is(err, k) {
				return true
			}
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	text := err.Error()
	return strings.HasPrefix(text, "redis: ") && !strings.Contains(text, `"`) && !errors.Is(err, redis.Nil)
}

// hasCode reports whether text starts like a Redis error: with a word in capitals.
func hasCode(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	return code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Panicked turns a panic of the client library into an error that wraps reply. It includes runtime
// errors, but only the type of any other value, which may contain anything.
func Panicked(p any, reply error) error {
	if err, ok := p.(interface {
		error
		RuntimeError()
	}); ok {
		return fmt.Errorf("%w: client panicked: %w", reply, err)
	}
	return fmt.Errorf("%w: client panicked with a %T", reply, p)
}
