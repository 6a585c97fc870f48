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
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// plain are foreign errors whose texts contain no data.
var plain = []error{
	context.Canceled, context.DeadlineExceeded,
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	redis.ErrClosed, redis.ErrPoolTimeout, redis.ErrPoolExhausted,
}

// Adapter makes the errors of one adapter.
type Adapter struct {
	Name  string  // of its package
	Reply error   // for replies that it cannot read
	Own   []error // all errors of its package; their texts are safe for logs
}

// Fail names the operation. The error is safe for logs: if its text may contain replies or arguments,
// it is a description instead.
func (a *Adapter) Fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", a.Name, op, a.safe(err))
}

// FailOn is Fail, or says why the server denies the client access.
func (a *Adapter) FailOn(rdb redis.UniversalClient, op string, err error) error {
	if denied := Denied(rdb, err); denied != nil && !among(err, a.Own) {
		return fmt.Errorf("%s: %w", a.Name, denied)
	}
	return a.Fail(op, err)
}

func (a *Adapter) safe(err error) error {
	if harmless(err, a.Own) {
		return err
	}
	if !FromServer(err) || errors.Is(err, redis.Nil) {
		return fmt.Errorf("%w (%T)", a.Reply, err)
	}
	text, _, quotes := strings.Cut(err.Error(), ", with args beginning with:")
	if !hasCode(text) {
		return fmt.Errorf("%w: error without a code", a.Reply)
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
	if among(err, known) || among(err, plain) {
		return true
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

func among(err error, list []error) bool {
	return slices.ContainsFunc(list, func(k error) bool { return errors.Is(err, k) })
}

// hasCode reports whether text starts like a Redis error: with a word in capitals.
func hasCode(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	return code != "" && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Panicked turns a panic of the client library into an error that wraps Reply. It includes runtime
// errors, but only the type of any other value, which may contain anything.
func (a *Adapter) Panicked(p any) error {
	if err, ok := p.(interface {
		error
		RuntimeError()
	}); ok {
		return fmt.Errorf("%w: client panicked: %w", a.Reply, err)
	}
	return fmt.Errorf("%w: client panicked with a %T", a.Reply, p)
}
