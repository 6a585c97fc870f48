package main

import (
	"bytes"
	"cmp"
	"errors"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The bound is long, so that a slow machine keeps its leases.
func tells(t *testing.T, want string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(t.Context(), append(args, "-bound", "1s"), &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("run = %d, %s after:\n%s", status, &errs, &out)
	}
	for _, want := range []string{
		want, "a log with a bound of 1s", "packages from load in ", "packages from local in ", "packages from remote in ",
		"64 goroutines of both processes ask for runtime at once: 1 load", "answered from load, local and, in the other process, remote",
		"the old one was served at once", "served stale instead of the error", "packages.Prefix(path)", "tree:", "(bound 1s)",
		"the very next read there was a load",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	tells(t, "share a remote tier in memory")
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	tells(t, "share the Redis at "+server.Addr(), "-redis", cmp.Or(os.Getenv("REDIS_URL"), "redis://"+server.Addr()))
	if os.Getenv("REDIS_URL") != "" {
		return // others may use it
	}
	left, err := server.Client().Keys(t.Context(), "{quickstart-*").Result()
	if err != nil || len(left) > 0 {
		t.Errorf("the log is still there: %v, %v", left, err)
	}
}

func TestBadInput(t *testing.T) {
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
		{"bad bound", []string{"-bound", "soon"}, 2, "-bound"},
		{"short bound", []string{"-bound", "1ms"}, 2, "flag -bound: 1ms is not between 100ms and 10s"},
		{"long bound", []string{"-bound", "1h"}, 2, "flag -bound: 1h0m0s is not between 100ms and 10s"},
		{"no installation", []string{"-root", "nowhere"}, 1, "flag -root: "},
		{"too few packages", []string{"-root", filepath.Join(build.Default.GOROOT, "src", "go")}, 1, "flag -root: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			status := run(t.Context(), tc.args, &out, &errs)
			if status != tc.status || !strings.Contains(errs.String(), tc.want) || out.Len() > 0 {
				t.Errorf("run(%q) = %d with %q on stderr, want %d and %q", tc.args, status, &errs, tc.status, tc.want)
			}
		})
	}
}

var errGone = errors.New("gone")

// TestStepsThatDoNotHappen breaks what the processes share. The program must notice it.
func TestStepsThatDoNotHappen(t *testing.T) {
	for _, tc := range []struct {
		step, name string
		sabotage   func(x *index, remote *tiertest.Faulty, log *logtest.Memory, links []invalidate.Log)
	}{
		{"first read", "a broken source", func(x *index, _ *tiertest.Faulty, _ *logtest.Memory, _ []invalidate.Log) {
			x.broken.Store(true)
		}},
		{"first read", "a package that vanished", func(x *index, _ *tiertest.Faulty, _ *logtest.Memory, _ []invalidate.Log) {
			x.paths[0] = "vanished"
		}},
		{"elsewhere", "no shared tier", func(_ *index, remote *tiertest.Faulty, _ *logtest.Memory, _ []invalidate.Log) {
			remote.Fail(errGone)
		}},
		{"absence", "an absence that is not shared", func(_ *index, remote *tiertest.Faulty, _ *logtest.Memory, _ []invalidate.Log) {
			remote.FailKeys(errGone, "default:packages:v1:no%2Fsuch", "default:packages:v1:no/such")
		}},
		{"cut off", "a lease longer than the bound", func(_ *index, _ *tiertest.Faulty, log *logtest.Memory, links []invalidate.Log) {
			links[0] = log.Handle(4 * log.Bound())
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, err := newIndex(filepath.Join(build.Default.GOROOT, "src"))
				if err != nil {
					t.Fatal(err)
				}
				log := logtest.NewMemory(logtest.MemoryConfig{})
				remote, links := tiertest.NewFaulty(tiertest.NewMemory()), []invalidate.Log{log, log}
				tc.sabotage(x, remote, log, links)
				f := &fleet{bound: log.Bound(), remote: remote, log: func() (l invalidate.Log) {
					l, links = links[0], links[1:]
					return l
				}}
				var out bytes.Buffer
				if err := tell(t.Context(), x, f, &out); err == nil || !strings.Contains(err.Error(), `step "`+tc.step+`" did not happen`) {
					t.Errorf("tell = %v, want an error about step %q, after:\n%s", err, tc.step, &out)
				}
			})
		})
	}
}

// TestTimes runs on virtual time, in which computing takes no time.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, err := newIndex(filepath.Join(build.Default.GOROOT, "src"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := newFleet(t.Context(), "", 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		start := time.Now()
		if err := tell(t.Context(), x, f, &out); err != nil {
			t.Fatalf("%v, after:\n%s", err, &out)
		}
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("it took %v, want three bounds of 2s, 1s until the next call of the log, and less than 1s for the rest", took)
		}
		if want := "the call took 2s, and"; !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	})
}

func TestLoad(t *testing.T) {
	x := &index{src: filepath.Join(build.Default.GOROOT, "src")}
	p, err := x.load(t.Context(), "container/list")
	if err != nil || p.Name != "list" || p.Doc != "Package list implements a doubly linked list." || len(p.Imports) != 0 || p.Load != 1 {
		t.Errorf("load = %+v, %v", p, err)
	}
	if _, err := x.load(t.Context(), "no/such"); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("load of what does not exist = %v, want %v", err, cache.ErrNotFound)
	}
}
