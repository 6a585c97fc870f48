package bench_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/twofold-go/twofold/examples/digest/bench"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The figures are not judged here: they are those of whatever machine this is.
func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	err := bench.Run(t.Context(), bench.Config{Sizes: []int{100}, Rows: 200, Ops: 40, Out: &out, Log: slog.New(slog.DiscardHandler)})
	if err != nil && !errors.Is(err, bench.ErrMissed) {
		t.Fatal(err)
	}
	for _, want := range []string{"\n100 ", "generate, digest in the file", "digest in memory, user looked up", "digest and user in memory", "subscribe or unsubscribe", "one of 200 rows"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
	if missed := strings.Contains(out.String(), "MISSED"); missed != errors.Is(err, bench.ErrMissed) {
		t.Errorf("%v after\n%s", err, out.String())
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// A population that the table does not fit misses it: nine users share too little.
func TestMissed(t *testing.T) {
	var out strings.Builder
	err := bench.Run(t.Context(), bench.Config{Sizes: []int{9}, Rows: 10, Ops: 10, Out: &out, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, bench.ErrMissed) {
		t.Errorf("%v after\n%s", err, out.String())
	}
}

func TestCancelled(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := bench.Run(ctx, bench.Config{Sizes: []int{100}, Out: &strings.Builder{}, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
