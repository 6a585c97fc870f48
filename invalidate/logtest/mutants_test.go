package logtest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A suite that never failed proves nothing. Each mutant breaks one rule and runs the suite in its
// own process. The subtest for that rule must catch it.

const mutantEnv = "LOGTEST_MUTANT"

func TestSuiteCatchesMutants(t *testing.T) {
	caught := map[string]string{}
	for _, m := range mutants {
		caught[m.name] = m.caught
	}
	catches(t, "TestMutant", caught)
}

// catches runs a test once for each mutant, in its own process, and checks that the subtest named
// beside the mutant fails. Every subtest must catch a mutant.
func catches(t *testing.T, test string, mutants map[string]string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a process per mutant")
	}
	caught := make(map[string]bool)
	for name, by := range mutants {
		caught[by] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$/^"+by+"$", "-test.count=1", "-test.v")
			cmd.Env = append(os.Environ(), mutantEnv+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("the suite accepts the mutant:\n%s", out)
			}
			if bytes.Contains(out, []byte("panic:")) || bytes.Contains(out, []byte("fatal error:")) {
				t.Errorf("the mutant crashed, it was not caught:\n%s", out)
			}
			t.Logf("%s", out)
		})
	}
	t.Run("every subtest catches one", func(t *testing.T) {
		for _, name := range subtests(t, test) {
			if !caught[name] {
				t.Errorf("no mutant is caught by %q", name)
			}
		}
	})
}

// subtests returns the names of a test's subtests in the spelling of go test.
func subtests(t *testing.T, test string) []string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), mutantEnv+"="+sound)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the suite refuses a sound log: %v\n%s", err, out)
	}
	var names []string
	for line := range bytes.Lines(out) {
		if _, name, ok := bytes.Cut(line, []byte("=== RUN   "+test+"/")); ok {
			names = append(names, string(bytes.TrimSpace(name)))
		}
	}
	if len(names) < 19 {
		t.Errorf("found only the subtests %q", names)
	}
	return names
}

// TestMutant is the process of one mutant; see TestSuiteCatchesMutants.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantEnv)
	if name == "" {
		t.Skip("runs only in the processes of TestSuiteCatchesMutants")
	}
	change := func(*mutant) {}
	for _, m := range mutants {
		if m.name == name {
			change = m.change
		}
	}
	everyone := newServer()          // for the mutant that cannot tell logs apart
	suite := logtest.TestLogInBubble // in a bubble the suite's patience takes no time
	if name == hangs {
		suite = logtest.TestLog
	}
	suite(t, func(*testing.T) func() invalidate.Log {
		s := newServer()
		return func() invalidate.Log {
			s.handles++
			m := &mutant{Log: s.log, server: s, everyone: everyone, handle: s.handles}
			m.sync, m.tail, m.bound = s.log.Sync, s.log.Tail, s.log.Bound
			change(m)
			return m
		}
	})
}

// sound names the process without a mutation.
const sound = "sound"

// server is shared by the handles of a mutant.
type server struct {
	log     *memlog.Log
	handles int
	kept    sync.Map // what a mutant keeps, by a key of its choice
}

func newServer() *server {
	return &server{log: memlog.New(memlog.Config{Bound: bound, Limit: 500})}
}

const bound = 40 * time.Millisecond

// mutant is one handle, whose methods can be changed one by one.
type mutant struct {
	invalidate.Log
	*server

	everyone *server
	handle   int // from 1
	sync     func(context.Context, invalidate.Cursor, invalidate.Append) (invalidate.Page, error)
	tail     func(context.Context, invalidate.Cursor) (invalidate.Page, error)
	bound    func() time.Duration
}

func (m *mutant) Bound() time.Duration { return m.bound() }

func (m *mutant) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	return m.sync(ctx, at, a)
}

func (m *mutant) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	return m.tail(ctx, at)
}

// ends returns the positions where the log ends.
func (s *server) ends() invalidate.Cursor {
	keys, scopes := s.log.Records()
	var at invalidate.Cursor
	if len(keys) > 0 {
		at.Key = keys[len(keys)-1].At
	}
	if len(scopes) > 0 {
		at.Scope = scopes[len(scopes)-1].At
	}
	return at
}

// call is a Sync, or a Tail, which appends nothing.
type call struct {
	ctx   context.Context
	at    invalidate.Cursor
	a     invalidate.Append
	inner func(context.Context, invalidate.Cursor, invalidate.Append) (invalidate.Page, error)
}

func (c call) do() (invalidate.Page, error) { return c.inner(c.ctx, c.at, c.a) }

// aroundSync makes each Sync call f.
func aroundSync(f func(m *mutant, c call) (invalidate.Page, error)) func(*mutant) {
	return func(m *mutant) {
		inner := m.sync
		m.sync = func(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
			return f(m, call{ctx, at, a, inner})
		}
	}
}

// aroundTail makes each Tail call f.
func aroundTail(f func(m *mutant, c call) (invalidate.Page, error)) func(*mutant) {
	return func(m *mutant) {
		inner := m.tail
		m.tail = func(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
			return f(m, call{ctx, at, invalidate.Append{}, func(
				ctx context.Context, at invalidate.Cursor, _ invalidate.Append,
			) (invalidate.Page, error) {
				return inner(ctx, at)
			}})
		}
	}
}

// args changes the arguments of a Sync.
func args(change func(m *mutant, at *invalidate.Cursor, a *invalidate.Append)) func(*mutant) {
	return aroundSync(func(m *mutant, c call) (invalidate.Page, error) {
		change(m, &c.at, &c.a)
		return c.do()
	})
}

// page changes the page of a call.
func page(change func(m *mutant, p *invalidate.Page)) func(m *mutant, c call) (invalidate.Page, error) {
	return func(m *mutant, c call) (invalidate.Page, error) {
		p, err := c.do()
		if err == nil {
			change(m, &p)
		}
		return p, err
	}
}

// syncs changes the page of a Sync, and tails that of a Tail.
func syncs(change func(m *mutant, p *invalidate.Page)) func(*mutant) { return aroundSync(page(change)) }
func tails(change func(m *mutant, p *invalidate.Page)) func(*mutant) { return aroundTail(page(change)) }

// records changes every record of a Sync.
func records(change func(r *invalidate.Record)) func(*mutant) {
	return syncs(func(_ *mutant, p *invalidate.Page) {
		for i := range p.Keys {
			change(&p.Keys[i])
		}
		for i := range p.Scopes {
			change(&p.Scopes[i])
		}
	})
}

// fences changes every fence of a Sync.
func fences(change func(f *invalidate.Fence)) func(*mutant) {
	return records(func(r *invalidate.Record) {
		for i := range r.Fences {
			change(&r.Fences[i])
		}
	})
}
