package cache

import (
	"errors"
	"reflect"
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

// remember returns what is remembered of err, which is never less than that it is what.
func remember(err, what error) error {
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
