// Package errtree looks at what an error is made of: which errors it says, and what it
// keeps alive.
package errtree

import (
	"errors"
	"reflect"
	"slices"
)

// said is what is remembered of a loader's error: its text, and those of the innermost
// errors that take no memory to speak of, so that errors.Is finds a sentinel. The rest is
// not kept alive: it may be a whole response.
type said struct {
	text   string
	leaves []error
}

func (e *said) Error() string { return e.text }

// Unwrap returns the innermost errors.
func (e *said) Unwrap() []error { return e.leaves }

// maxLeaves is how many of them are kept.
const maxLeaves = 8

// Remember returns what is remembered of err, which is never less than that it is what,
// unless that is nil.
func Remember(err, what error) error {
	if len(unwrap(err)) == 0 && light(reflect.TypeOf(err)) {
		return err
	}
	s := &said{err.Error(), appendLeaves(nil, err)}
	if what != nil && !errors.Is(s, what) {
		s.leaves = append(s.leaves, what)
	}
	return s
}

func appendLeaves(to []error, err error) []error {
	next := unwrap(err)
	if len(next) == 0 && len(to) < maxLeaves && light(reflect.TypeOf(err)) {
		to = append(to, err)
	}
	for _, e := range next {
		to = appendLeaves(to, e)
	}
	return to
}

// sentinel is the type of what errors.New returns.
var sentinel = reflect.TypeOf(errors.New(""))

// light reports whether an error is a sentinel or a plain value, which leads nowhere.
func light(t reflect.Type) bool {
	switch k := t.Kind(); {
	case t == sentinel, k <= reflect.Complex128, k == reflect.String:
		return true
	case k == reflect.Array:
		return light(t.Elem())
	case k == reflect.Struct:
		for f := range t.Fields() {
			if !light(f.Type) {
				return false
			}
		}
		return true
	}
	return false
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

// Only reports whether every leaf of an error's tree is the target.
func Only(err, target error) bool {
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
