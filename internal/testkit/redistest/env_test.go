package redistest_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

func TestRedisURL(t *testing.T) {
	own := redistest.Start(t)
	t.Setenv("REDIS_URL", "redis://"+own.Addr()+"/0")
	s := redistest.Start(t)
	if s.Addr() != own.Addr() {
		t.Errorf("Addr() = %s, want that of REDIS_URL, %s", s.Addr(), own.Addr())
	}
	if err := s.Client().Ping(t.Context()).Err(); err != nil {
		t.Errorf("PING = %v", err)
	}
	for name, fault := range map[string]func(t testing.TB){
		"stop": s.Stop, "cont": s.Cont, "kill": s.Kill, "restart": s.Restart,
		"args": func(t testing.TB) { redistest.Start(t, redistest.Args("--port", "1")) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if !t.Skipped() {
					t.Errorf("a fault on a server that is not ours does not skip")
				}
			}()
			fault(t)
		})
	}
	t.Run("several servers", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		defer func() {
			if !t.Skipped() {
				t.Errorf("a cluster without redis-server does not skip")
			}
		}()
		redistest.StartCluster(t, 3)
	})
}

// fatal is a testing.TB that records the argument of Fatal.
type fatal struct {
	testing.TB
	message any
}

func (f *fatal) Helper() {}

func (f *fatal) Fatal(args ...any) {
	f.message = args[0]
	panic(f)
}

func TestMissingServerFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("REDIS_URL", "")
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		f := &fatal{TB: t}
		func() {
			defer func() { _ = recover() }()
			redistest.Start(f)
		}()
		if f.message == nil {
			t.Errorf("CI=%q: Start without redis-server does not fail the test", ci)
		}
	}
}
