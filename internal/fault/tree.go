package fault

import (
	"errors"
	"reflect"
	"slices"
)

// said is the remembered form of a loader's error. It has the error's text, its small errors, and
// the errors that the caller wants to keep. Therefore errors.Is still finds a sentinel and
// errors.As a status. The rest is released, because it may be a whole response.
type said struct {
	text  string
	parts []error
}

func (e *said) Error() string { return e.text }

// Unwrap returns the errors that were kept.
func (e *said) Unwrap() []error { return e.parts }

const (
	maxParts = 8    // how many of the errors are kept
	maxBytes = 1024 // size limit of each of them
)

// Remember returns the remembered form of err. It is at least what, unless what is nil. Keep
// selects errors to keep regardless of size; nil selects none.
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

// appendKept appends the errors of err's tree that are to be kept.
func appendKept(to []error, err error, kept func(error) bool) []error {
	if len(to) < maxParts && kept(err) {
		to = append(to, err)
	}
	for _, e := range unwrap(err) {
		to = appendKept(to, e, kept)
	}
	return to
}

// sentinel is the type of the errors that errors.New returns.
var sentinel = reflect.TypeOf(errors.New(""))

// light reports whether an error is a sentinel, a small value that refers at most to sentinels, or
// a pointer to such a value. pgx.ErrNoRows refers to sql.ErrNoRows.
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

// bytesOf returns the size of a value, including its strings, or far too many bytes if the value
// has other references.
func bytesOf(v reflect.Value) int {
	const many = 1 << 20
	switch k := v.Kind(); {
	case k == reflect.String:
		return int(v.Type().Size()) + v.Len()
	case k >= reflect.Bool && k <= reflect.Complex128:
		return int(v.Type().Size())
	case k == reflect.Interface && v.IsNil():
		return int(v.Type().Size())
	case k == reflect.Interface && v.Elem().Type() == sentinel:
		return int(v.Type().Size()) + bytesOf(v.Elem().Elem())
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

// Only reports whether an error is one of the targets, or wraps nothing else. Unlike errors.Is it
// is false for an error that joins a target with another error.
func Only(err error, targets ...error) bool {
	if slices.ContainsFunc(targets, func(t error) bool { return isItself(err, t) }) {
		return true // even if it wraps another error, as a sentinel may
	}
	next := unwrap(err)
	return len(next) > 0 && !slices.ContainsFunc(next, func(e error) bool { return !Only(e, targets...) })
}

// isItself is errors.Is for one error of a tree, without what it wraps.
func isItself(err, target error) bool {
	if target != nil && reflect.TypeOf(target).Comparable() && err == target { //nolint:errorlint // itself
		return true
	}
	x, ok := err.(interface{ Is(error) bool })
	return ok && x.Is(target)
}

// Without returns an error in which errors.Is finds everything that err contains, except the
// targets.
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
