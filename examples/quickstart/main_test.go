package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestRunTellsEveryStep(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"-root", "testdata"}, &out, &errs); status != 0 {
		t.Fatalf("run = %d, %s after:\n%s", status, &errs, &out)
	}
	for _, want := range []string{
		"share a remote tier in memory",
		"cold         3 packages from load in ",
		"24 lines parsed, 6 exported names",
		"merged       64 goroutines of both processes want gamma at once: 1 load",
		"warm         3 packages from local in ",
		"elsewhere    3 packages from remote in ",
		"negative     no/such/package is not there: found out by load in ",
		"stale        alpha, ", " from local, stale in ",
		"fail-safe    the source has broken: alpha, ",
		"invalidated  tag tree:alpha: alpha from load in ", "delta from local in ",
		"source   reads ", "p99", "local hits ", "stale, load failed ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	if errs.Len() > 0 {
		t.Errorf("on stderr: %s", &errs)
	}
}

// A step that does not happen is an error that names it.
func TestStepsThatDoNotHappen(t *testing.T) {
	gone := errors.New("gone")
	for _, tc := range []struct {
		step, name string
		sabotage   func(*index, *tiertest.Faulty)
	}{
		{"cold", "a broken source", func(x *index, _ *tiertest.Faulty) { x.broken.Store(true) }},
		{"cold", "a package that vanished", func(x *index, _ *tiertest.Faulty) { x.paths[0] = "vanished" }},
		{"merged", "no shared tier", func(_ *index, f *tiertest.Faulty) { f.Fail(gone) }},
		{"elsewhere", "lost fills", func(_ *index, f *tiertest.Faulty) {
			f.FailKeys(gone, "default:packages:v1:alpha")
		}},
		{"negative", "an absence that is not shared", func(_ *index, f *tiertest.Faulty) {
			f.FailKeys(gone, "default:packages:v1:no%2Fsuch%2Fpackage", "default:packages:v1:no/such/package")
		}},
		{"invalidated", "one directory alone", func(x *index, _ *tiertest.Faulty) {
			x.paths = []string{"alpha", "alpha/beta", "delta"}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x, err := newIndex("testdata")
			if err != nil {
				t.Fatal(err)
			}
			shared := tiertest.NewFaulty(tiertest.NewMemory())
			tc.sabotage(x, shared)
			var out bytes.Buffer
			err = tell(t.Context(), x, shared, &out)
			if err == nil || !strings.Contains(err.Error(), `step "`+tc.step+`" did not happen`) {
				t.Errorf("tell = %v, want an error about step %q, after:\n%s", err, tc.step, &out)
			}
		})
	}
}

func TestRunRefusesBadInput(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		status int
	}{
		{"unknown flag", []string{"-nonsense"}, 2},
		{"bad URL", []string{"-root", "testdata", "-redis", "redis://%zz"}, 1},
		{"no Redis", []string{"-root", "testdata", "-redis", "redis://127.0.0.1:1"}, 1},
		{"no installation", []string{"-root", "nowhere"}, 1},
		{"too few packages", []string{"-root", "testdata/src/alpha"}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if status := run(t.Context(), tc.args, &out, &errs); status != tc.status || errs.Len() == 0 {
				t.Errorf("run(%q) = %d with %q on stderr, want %d and a message", tc.args, status, &errs, tc.status)
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
	if p.Name != "beta" || p.Synopsis != "Package beta is indexed by a test." || strings.Join(p.Exported, " ") != "Double Name" {
		t.Errorf("load = %+v", p)
	}
	if _, err := x.load(context.Background(), "no/such"); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("load of what is not there = %v, want %v", err, cache.ErrNotFound)
	}
}
