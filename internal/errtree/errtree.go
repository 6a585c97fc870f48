// Package errtree looks at what an error is made of: which errors it says, and what it
// keeps alive.
package errtree

import (
	"errors"
	"reflect"
	"slices"
)

// said is what is remembered of a loader's error: its text, and those of the errors in it
// that take no memory to speak of, so that errors.Is finds a sentinel and errors.As a status,
// and those that are to be kept. The rest is not kept alive: it may be a whole response.
type said struct {
	text  string
	parts []error
}

func (e *said) Error() string { return e.text }

// Unwrap returns what is kept of the errors.
func (e *said) Unwrap() []error { return e.parts }

const (
	maxParts = 8    // how many of the errors are kept
	maxBytes = 1024 // of each of them
)

// Remember returns what is remembered of err, which is never less than that it is what,
// unless that is nil. Keep says which errors in it are kept, however large; nil: none.
func Remember(err, what error, keep func(error) bool) error {
	kept := func(err error) bool { return light(err) || keep != nil && keep(err) }
	if len(unwrap(err)) == 0 && kept(err) {
		return err
	}
	s := &said{err.Error(), appendKept(nil, err, kept)}
	if what != nil && !errors.Is(s, what) {
		s.parts = append(s.parts, what)
	}
	return s
}

// appendKept appends the errors of err's tree that are kept.
func appendKept(to []error, err error, kept func(error) bool) []error {
	if len(to) < maxParts && kept(err) {
		to = append(to, err)
	}
	for _, e := range unwrap(err) {
		to = appendKept(to, e, kept)
	}
	return to
}

// sentinel is the type of what errors.New returns.
var sentinel = reflect.TypeOf(errors.New(""))

// light reports whether an error is a sentinel, or a small value that leads nowhere, or a
// pointer to one.
func light(err error) bool {
	v := reflect.ValueOf(err)
	if v.Type() == sentinel {
		return true
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return bytesOf(v) <= maxBytes
}

// bytesOf returns the bytes of a value without references, strings included; far too many
// for one that has some.
func bytesOf(v reflect.Value) int {
	const many = 1 << 20
	switch k := v.Kind(); {
	case k == reflect.String:
		return int(v.Type().Size()) + v.Len()
	case k >= reflect.Bool && k <= reflect.Complex128:
		return int(v.Type().Size())
	case k == reflect.Array && v.Type().Size() <= maxBytes:
		n := 0
		for i := range v.Len() {
			n = min(n+bytesOf(v.Index(i)), many)
		}
		return n
	case k == reflect.Struct:
		n := 0
		for _, f := range v.Fields() {
			n = min(n+bytesOf(f), many)
		}
		return n
	}
	return many
}

// unwrap returns the errors that err directly wraps.
func unwrap(err error) []error {
	switch e := err.(type) { //nolint:errorlint // one node of the tree at a time
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			return []error{next}
		}
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return nil
}

// Only reports whether an error is the target, by itself or because every error that it
// wraps is.
func Only(err, target error) bool {
	if x, ok := err.(interface{ Is(error) bool }); ok && x.Is(target) {
		return true
	}
	next := unwrap(err)
	if len(next) == 0 {
		return errors.Is(err, target)
	}
	return !slices.ContainsFunc(next, func(e error) bool { return !Only(e, target) })
}

// Without returns err so that errors.Is finds none of the targets in it, and everything
// else.
func Without(err error, targets ...error) error {
	if !slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) }) {
		return err
	}
	return &less{err, targets}
}

type less struct {
	err     error
	targets []error
}

func (e *less) Error() string { return e.err.Error() }

// Is implements the interface of errors.Is.
func (e *less) Is(target error) bool {
	return !slices.Contains(e.targets, target) && errors.Is(e.err, target)
}

// As implements the interface of errors.As.
func (e *less) As(target any) bool { return errors.As(e.err, target) }
