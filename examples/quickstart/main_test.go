package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
)

// steps are what every run tells, whatever the remote tier and the log are.
var steps = []string{
	"and a log with a bound of 1s",
	"cold         3 packages from load in ",
	"24 lines parsed, 6 exported names",
	"merged       64 goroutines of both processes want gamma at once: 1 load",
	"warm         3 packages from local in ",
	"elsewhere    3 packages from remote in ",
	"negative     no/such/package is not there: found out by load in ",
	"stale        alpha, ", " from local, stale in ",
	"fail-safe    the source has broken: alpha, ",
	"invalidated  key alpha: gone here in ", "seen by the other process after ", " (bound 1s)",
	"prefix default:packages:v1:alpha: gone here in ", "tag default:tree:alpha: gone here in ",
	"delta begins otherwise: both processes keep their copies",
	"cut off      the other process's link to the log is cut: it served the old delta for ",
	"strict       cut off again: the call took 1", "its very next read is new (load in ",
	"source   reads ", "p99", "local hits ", "stale, load failed ",
	"log records ", "log gaps ", "log bumps ", "lease lapses ", "lease age ",
}

// The bound is so long that a machine that does a lot else keeps its leases.
func tells(t *testing.T, want string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(t.Context(), append(args, "-root", "testdata", "-bound", "1s"), &out, &errs); status != 0 {
		t.Fatalf("run = %d, %s after:\n%s", status, &errs, &out)
	}
	for _, want := range append(steps, want) {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	if errs.Len() > 0 {
		t.Errorf("on stderr: %s", &errs)
	}
}

func TestRunInMemory(t *testing.T) {
	t.Parallel()
	tells(t, "share a remote tier in memory")
}

func TestRunOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	tells(t, "share Redis at "+server.Addr(), "-redis", cmp.Or(os.Getenv("REDIS_URL"), "redis://"+server.Addr()))
	if os.Getenv("REDIS_URL") != "" {
		return // others may run this, too
	}
	left, err := server.Client().Keys(t.Context(), "{quickstart-*").Result()
	if err != nil || len(left) > 0 {
		t.Errorf("the log is still there: %v, %v", left, err)
	}
}

// The first start parses all packages, the second one none, unless they are others.
func TestRunOnFile(t *testing.T) {
	t.Parallel()
	db, other := filepath.Join(t.TempDir(), "a b?c#.db"), t.TempDir()
	if err := os.CopyFS(other, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"4 were parsed", "no load was needed", "4 were parsed"} {
		root := []string{"testdata", "testdata", other}[i]
		var out, errs bytes.Buffer
		if status := run(t.Context(), []string{"-file", db, "-root", root}, &out, &errs); status != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("start %d = %d, %q, %s; want %q", i+1, status, &out, &errs, want)
		}
	}
}

func TestRunRefusesBadInput(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		args   []string
		status int
		want   string // on stderr
	}{
		{"unknown flag", []string{"-nonsense"}, 2, "-nonsense"},
		{"no flag", []string{"redis://localhost"}, 2, `"redis://localhost" is not a flag`},
		{"bad URL", []string{"-redis", "redis://%zz"}, 1, "flag -redis: "},
		{"no URL", []string{"-redis", "localhost:6379"}, 1, "flag -redis: "},
		{"no Redis", []string{"-redis", "redis://127.0.0.1:1"}, 1, "flag -redis: 127.0.0.1:1: "},
		{"two tiers", []string{"-file", "x", "-redis", "redis://localhost"}, 2, "exclude each other"},
		{"no file", []string{"-file", "testdata/no/such/folder/x"}, 1, "flag -file: "},
		{"bad bound", []string{"-bound", "soon"}, 2, "-bound"},
		{"short bound", []string{"-bound", "1ms"}, 1, "flag -bound: 1ms is not between 100ms and 10s"},
		{"long bound", []string{"-bound", "1h"}, 1, "flag -bound: 1h0m0s is not between 100ms and 10s"},
		{"no installation", []string{"-root", "nowhere"}, 1, "flag -root: "},
		{"too few packages", []string{"-root", "testdata/src/alpha"}, 1, "flag -root: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			status := run(t.Context(), append([]string{"-root", "testdata"}, tc.args...), &out, &errs)
			if status != tc.status || !strings.Contains(errs.String(), tc.want) || out.Len() > 0 {
				t.Errorf("run(%q) = %d with %q on stderr, want %d and %q", tc.args, status, &errs, tc.status, tc.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	x := &index{src: "testdata/src"}
	p, err := x.load(t.Context(), "alpha/beta")
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "beta" || p.Synopsis != "Package beta is indexed by a test." || strings.Join(p.Exported, " ") != "Double Name" || p.Parse != 1 {
		t.Errorf("load = %+v", p)
	}
	if _, err := x.load(context.Background(), "no/such"); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("load of what is not there = %v, want %v", err, cache.ErrNotFound)
	}
}
