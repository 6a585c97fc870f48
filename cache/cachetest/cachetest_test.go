package cachetest_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachetest"
)

// The package comment shows the code of service_test.go.
func TestDocIsTested(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.ReadFile("service_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(test), ")\n\n") // after the imports
	var want strings.Builder
	for line := range strings.Lines(code) {
		if line != "\n" {
			want.WriteString("//\t")
			want.WriteString(line)
		} else {
			want.WriteString("//\n")
		}
	}
	if !strings.Contains(string(doc), want.String()) {
		t.Error("doc.go does not show service_test.go as it is")
	}
}

// A process that is cut off keeps its old value until it is restored.
func TestCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet, s, db := start(t, 3)
		for i := range s {
			wantName(t, s[i], 1, "Ada", nil)
		}
		db.names[1] = "Ada L."
		fleet.CutOff(2)
		if err := s[0].users.Delete(t.Context(), 1); err != nil {
			t.Error(err)
		}
		wantName(t, s[2], 1, "Ada", nil)
		if err := s[2].users.Delete(t.Context(), 1); err == nil {
			t.Error("a Delete went through although the process is cut off")
		}
		fleet.Restore(2)
		if err := fleet.CatchUp(t.Context()); err != nil {
			t.Error(err)
		}
		for i := range s {
			wantName(t, s[i], 1, "Ada L.", nil)
		}
	})
}

// What a process could not send is known everywhere after CatchUp.
func TestCatchUpSendsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet, s, db := start(t, 2)
		wantName(t, s[0], 1, "Ada", nil)
		db.names[1] = "Ada L."
		fleet.Log[0].DropTail(true) // the first process hears only what it asks for
		fleet.CutOff(1)
		if err := s[1].users.Delete(t.Context(), 1); err == nil {
			t.Error("a Delete went through although the process is cut off")
		}
		fleet.Restore(1)
		if err := fleet.CatchUp(t.Context()); err != nil {
			t.Error(err)
		}
		wantName(t, s[0], 1, "Ada L.", nil)
	})
}

func TestOpenChanges(t *testing.T) {
	tiers := cachetest.Open(t, func(cfg *cache.TiersConfig) { cfg.Remote = nil })
	if _, err := NewService(tiers, &database{}); err != nil {
		t.Error(err)
	}
	if b := tiers.Stats().Remote.Breaker; b != "" {
		t.Errorf("breaker = %q, want none: there is no remote tier", b)
	}
}

// recorder is a test that records whether it failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	panic(errStopped)
}

var errStopped = errors.New("stopped")

func TestOpenFleetOfNone(t *testing.T) {
	r := &recorder{TB: t}
	defer func() {
		if x := recover(); x != errStopped || !r.failed { //nolint:errorlint // the very value
			t.Errorf("OpenFleet of no process: %v, failed: %v", x, r.failed)
		}
	}()
	cachetest.OpenFleet(r, 0)
}
