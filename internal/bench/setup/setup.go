// Package setup lets a program build servers, caches and connections as a test does: a step that
// fails ends the work up to the next [Try], and what was started is ended in reverse order.
package setup

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// failure is the panic value of a failed step. Try recovers it.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// Check fails the goroutine's [Try] if err is not nil.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must returns v, or fails like [Check].
func Must[V any](v V, err error) V {
	Check(err)
	return v
}

// Try runs f and returns its failure.
func Try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// T owns what was started, and lets a program use package redistest, which is made for tests.
// redistest does not use the methods of testing.TB that T lacks.
type T struct {
	testing.TB
	ctx    context.Context //nolint:containedctx // testing.TB.Context wants one
	cancel context.CancelFunc

	mu       sync.Mutex // protects cleanups
	cleanups []func()
}

// New returns a T, which the caller must close. From then on package redistest starts its own
// servers, because a shared one must not be broken or measured.
func New(ctx context.Context) *T {
	_ = os.Unsetenv("REDIS_URL") // it fails only for an invalid name
	t := &T{}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// Part returns a T for a part of the work, which ends earlier. The caller must close it.
func (t *T) Part() *T { return New(t.ctx) }

// Close runs the cleanups, the last one first.
func (t *T) Close() {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, f := range slices.Backward(t.cleanups) {
		t.cleanups[i] = nil // it may hold much memory
		_ = Try(f)          // errors no longer matter
	}
	t.cleanups = nil
}

// Cleanup makes Close call f.
func (t *T) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// Closing makes Close call a function whose error no longer matters then.
func (t *T) Closing(f func() error) { t.Cleanup(func() { _ = f() }) }

// TempDir returns a new folder, which Close removes.
func (t *T) TempDir() string {
	dir := Must(os.MkdirTemp("", "twofold"))
	t.Closing(func() error { return os.RemoveAll(dir) })
	return dir
}

// Context returns a context that ends with Close.
func (t *T) Context() context.Context { return t.ctx }

// Helper does nothing.
func (*T) Helper() {}

// Fatal fails the goroutine's [Try].
func (*T) Fatal(args ...any) { Check(errors.New(fmt.Sprint(args...))) }

// Fatalf fails the goroutine's [Try].
func (*T) Fatalf(format string, args ...any) { Check(fmt.Errorf(format, args...)) }

// Skip is Fatal.
func (t *T) Skip(args ...any) { t.Fatal(args...) }

// ErrFound means that a program works, and has found something wrong. The details are already
// printed.
var ErrFound = errors.New("not as expected")

// Main runs a program that may start itself again: with env in the environment it runs child. An
// interrupt ends the context of run. The exit status is 1 after [ErrFound], and 2 after other errors.
func Main(name, env string, child func() error, run func(context.Context) error) {
	redis.SetLogger(silent{}) // ended connections, and servers that are still starting, are expected
	Child(name, env, child)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	exit(name, err)
}

// Child does Main's work in a child, and exits. Elsewhere it does nothing.
func Child(name, env string, child func() error) {
	if os.Getenv(env) != "" {
		exit(name, child())
	}
}

func exit(name string, err error) {
	switch {
	case err == nil:
		os.Exit(0)
	case !errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, name+":", err)
	}
	if errors.Is(err, ErrFound) {
		os.Exit(1)
	}
	os.Exit(2)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Deliver writes the results of a program to a file, or to the standard output if there is no path.
func Deliver(path, text string) error {
	if path == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // for everybody to read
}
