package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/fault"
)

var (
	errGone  = errors.New("gone")
	errShard = errors.New("shard 7 is down")
)

// heavy refers to more memory than its text.
type heavy struct{ body *[1 << 20]byte }

func (heavy) Error() string { return "heavy" }

// plain has no references except its string.
type plain struct {
	code string
	n    [2]int
}

func (plain) Error() string { return "plain" }

// status is an error that a program looks for.
type status struct {
	code int
	text string
}

func (*status) Error() string { return "status" }

// byMethod is errGone by its method Is, without wrapping it, and is not comparable.
type byMethod struct{ _ []int }

func (byMethod) Error() string        { return "by method" }
func (byMethod) Is(target error) bool { return target == errGone }

// outer is a sentinel that wraps another error, as pgx.ErrNoRows does.
type outer struct{ self, wraps error }

func (o *outer) Error() string        { return "outer" }
func (o *outer) Is(target error) bool { return target == o.self }
func (o *outer) Unwrap() error        { return o.wraps }

func TestOnly(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{errGone, true},
		{fmt.Errorf("no row: %w", errGone), true},
		{errors.Join(errGone, fmt.Errorf("no row: %w", errGone)), true},
		{byMethod{}, true},
		{&outer{errGone, errShard}, true}, // itself; what it wraps does not count
		{errShard, false},
		{&outer{errors.New("x"), errShard}, false},
		{errors.Join(errGone, errShard), false},
		{fmt.Errorf("%w and %w", errGone, errShard), false},
	} {
		if got := fault.Only(tt.err, errGone); got != tt.want {
			t.Errorf("Only(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestWithout(t *testing.T) {
	if err := fault.Without(errShard, errGone); !errors.Is(err, errShard) {
		t.Errorf("an error without the target became %v", err)
	}
	err := fmt.Errorf("keys: %w", fault.Without(errors.Join(errGone, errShard, plain{code: "p"}), errGone))
	if errors.Is(err, errGone) || !errors.Is(err, errShard) {
		t.Errorf("%v: Is(gone) = %v, Is(shard) = %v", err, errors.Is(err, errGone), errors.Is(err, errShard))
	}
	if p, ok := errors.AsType[plain](err); !ok || p.code != "p" {
		t.Errorf("As does not reach the wrapped errors")
	}
}

// small refers to a sentinel only, as pgx.ErrNoRows does.
type small struct {
	of   error
	text string
}

func (s *small) Error() string { return s.text }
func (s *small) Unwrap() error { return s.of }

func TestRememberedSentinelThatWraps(t *testing.T) {
	known := &small{errGone, "no rows"}
	for _, tt := range []struct {
		err  *small
		kept bool
	}{{known, true}, {&small{nil, "none"}, true}, {&small{heavy{}, "none"}, false}, {&small{errGone, strings.Repeat("x", 10_000)}, false}} {
		got := fault.Remember(fmt.Errorf("load: %w", tt.err), nil, nil)
		if errors.Is(got, tt.err) != tt.kept {
			t.Errorf("a wrapped %.20q is kept: %v, want %v", tt.err, !tt.kept, tt.kept)
		}
	}
}

// A small error in the middle of the tree is found; one with a long text is not.
func TestRememberedStatus(t *testing.T) {
	for _, n := range []int{10, 10_000} {
		err := fmt.Errorf("load: %w", errors.Join(errShard, &status{503, strings.Repeat("x", n)}))
		s, ok := errors.AsType[*status](fault.Remember(err, nil, nil))
		if ok != (n == 10) || ok && s.code != 503 {
			t.Errorf("with a text of %d bytes: %v, %v", n, s, ok)
		}
	}
}

func TestRemember(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		what  error
		is    []error
		isNot []error
	}{
		{"a sentinel", errShard, nil, []error{errShard}, nil},
		{"a plain value", plain{code: "p"}, nil, []error{plain{code: "p"}}, nil},
		{"wrapped", fmt.Errorf("load: %w", errShard), nil, []error{errShard}, nil},
		{"joined", errors.Join(errShard, heavy{}, errGone), nil, []error{errShard, errGone}, []error{heavy{}}},
		{"heavy", heavy{}, nil, nil, []error{heavy{}}},
		{"heavy, but known", heavy{}, errGone, []error{errGone}, []error{heavy{}}},
		{"by a method", byMethod{}, errGone, []error{errGone}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := fault.Remember(tt.err, tt.what, nil)
			if got.Error() != tt.err.Error() {
				t.Errorf("it says %q, want %q", got, tt.err)
			}
			for _, is := range tt.is {
				if !errors.Is(got, is) {
					t.Errorf("it is not %v", is)
				}
			}
			for _, is := range tt.isNot {
				if errors.Is(got, is) {
					t.Errorf("it keeps %v", is)
				}
			}
		})
	}
}

// An error that keep selects is kept, however large.
func TestRememberKeeps(t *testing.T) {
	err := fmt.Errorf("load: %w", heavy{new([1 << 20]byte)})
	isHeavy := func(err error) bool { _, ok := err.(heavy); return ok } //nolint:errorlint // itself
	if _, ok := errors.AsType[heavy](fault.Remember(err, nil, isHeavy)); !ok {
		t.Error("it is gone")
	}
}
