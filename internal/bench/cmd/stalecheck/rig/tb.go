// Package rig sets up the environment of a run: Redis servers, a proxy for each worker, and the
// faults.
package rig

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// tb lets a program use package redistest, which is made for tests. redistest does not use the
// methods that tb lacks.
type tb struct {
	testing.TB
	ctx    context.Context //nolint:containedctx // testing.TB.Context wants one
	cancel context.CancelFunc
	root   string

	mu       sync.Mutex // protects cleanups
	cleanups []func()
}

// failure is the panic value of a failed tb. try recovers it.
type failure string

func (f failure) Error() string { return string(f) }

func newTB(ctx context.Context, root string) *tb {
	t := &tb{root: root}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// try runs f and returns its failure.
func (t *tb) try(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// close runs the cleanups, the last one first.
func (t *tb) close() {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range slices.Backward(t.cleanups) {
		_ = t.try(f) // errors no longer matter
	}
	t.cleanups = nil
}

func (t *tb) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *tb) TempDir() string {
	dir, err := os.MkdirTemp(t.root, "redis")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (t *tb) Context() context.Context          { return t.ctx }
func (t *tb) Helper()                           {}
func (t *tb) Name() string                      { return "stalecheck" }
func (t *tb) Error(args ...any)                 { t.Fatal(args...) }
func (t *tb) Errorf(format string, args ...any) { t.Fatalf(format, args...) }
func (t *tb) Fatal(args ...any)                 { panic(failure(fmt.Sprint(args...))) }
func (t *tb) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (t *tb) Skip(args ...any)                  { t.Fatal(args...) }
func (t *tb) Skipf(format string, args ...any)  { t.Fatalf(format, args...) }
