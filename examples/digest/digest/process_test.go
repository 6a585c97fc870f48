package digest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// childEnv makes the test binary a process of the fleet.
const childEnv = "DIGEST_TEST_CHILD"

func TestMain(m *testing.M) {
	if data := os.Getenv(childEnv); data != "" {
		if err := child(context.Background(), []byte(data)); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type task struct {
	Database string
	Calls    string // a file that gets a line for each call
	Users    []int64
	ClaimTTL time.Duration
	Hang     bool // hang in the call
}

// said is a line of a child: its step, or the result of a user.
type said struct {
	At      string
	User    int64
	Content string
}

func child(ctx context.Context, data []byte) (err error) {
	var todo task
	if err := json.Unmarshal(data, &todo); err != nil {
		return err
	}
	s, err := store.Open(ctx, todo.Database, store.Options{Now: func() time.Time { return noon }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out := &lines{to: json.NewEncoder(os.Stdout)}
	svc, err := digest.Open(ctx, digest.Config{
		Store: s, Summariser: &ledger{task: todo, out: out}, ClaimTTL: todo.ClaimTTL, Bound: patience, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(ctx)) }()
	if err := out.say(said{At: "ready"}); err != nil {
		return err
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil { // until all children are ready
		return err
	}
	return todo.run(ctx, svc, out)
}

// run makes the requests of all users at once.
func (todo task) run(ctx context.Context, svc *digest.Service, out *lines) error {
	errs := make([]error, len(todo.Users))
	var wg sync.WaitGroup
	for i, user := range todo.Users {
		wg.Go(func() {
			r, err := svc.Generate(ctx, digest.Request{UserID: user, Kind: digest.Daily})
			errs[i] = errors.Join(err, out.say(said{User: user, Content: r.Row.Content}))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

type lines struct {
	mu sync.Mutex // protects to
	to *json.Encoder
}

func (l *lines) say(s said) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Encode(s)
}

// ledger is a summariser that writes its calls to a file, for other processes to count.
type ledger struct {
	task task
	out  *lines
}

func (l *ledger) Variant() summary.Variant { return summary.Variant{} }

func (l *ledger) Summarise(_ context.Context, r summary.Request) (summary.Summary, error) {
	f, err := os.OpenFile(l.task.Calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return summary.Summary{}, err
	}
	_, err = fmt.Fprintf(f, "%d %d items\n", os.Getpid(), len(r.Items))
	if err := errors.Join(err, f.Close(), l.out.say(said{At: "call"})); err != nil {
		return summary.Summary{}, err
	}
	if l.task.Hang {
		select {}
	}
	return text(r, int64(os.Getpid())), nil
}

// process is a child, from the view of its parent.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *json.Decoder
	errs  strings.Builder
	ended bool
}

func start(t *testing.T, todo task) *process {
	t.Helper()
	data, err := json.Marshal(todo)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(data))
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.out = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.ended {
			p.kill()
		}
	})
	p.wantSaid("ready")
	return p
}

func (p *process) next() (s said) {
	p.t.Helper()
	if err := p.out.Decode(&s); err != nil {
		p.t.Fatalf("a process ended: %v\n%s", err, p.errs.String())
	}
	return s
}

func (p *process) wantSaid(at string) {
	p.t.Helper()
	if s := p.next(); s.At != at {
		p.t.Fatalf("a process said %+v, want %q", s, at)
	}
}

func (p *process) begin() {
	p.t.Helper()
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills the child as kill -9 does.
func (p *process) kill() {
	p.ended = true
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // the error says that it was killed
}

func (p *process) wait() {
	p.t.Helper()
	p.ended = true
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("a process ended with %v\n%s", err, p.errs.String())
	}
}

func callsIn(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// Users in two processes ask at once: one call, and all get the cached digest.
func TestTwoProcessesOneCall(t *testing.T) {
	w := newWorld(t, 2)
	ledger := filepath.Join(t.TempDir(), "calls")
	var all []int64
	var children []*process
	for range 2 {
		todo := task{Database: w.path, Calls: ledger, ClaimTTL: patience}
		for range 8 {
			todo.Users = append(todo.Users, w.user(fmt.Sprint("user", len(all)+len(todo.Users)), 1, 2))
		}
		all = append(all, todo.Users...)
		children = append(children, start(t, todo))
	}
	for _, p := range children {
		p.begin()
	}
	given := map[int64]string{}
	for _, p := range children {
		for n := 0; n < len(all)/2; {
			if s := p.next(); s.User != 0 {
				given[s.User] = s.Content
				n++
			}
		}
		p.wait()
	}
	if calls := callsIn(t, ledger); len(calls) != 1 {
		t.Errorf("there were %d calls: %v, want one", len(calls), calls)
	}
	row, err := w.store.CacheRow(t.Context(), store.Hash([]int64{1, 2}), "daily", noon.Add(-38*time.Hour), noon.Add(-14*time.Hour))
	if err != nil || row.State != store.StateReady {
		t.Fatalf("the cache's row is %+v, %v", row, err)
	}
	for _, user := range all {
		d, err := w.store.DigestOf(t.Context(), user, "daily", row.PeriodStart, row.PeriodEnd)
		if err != nil || d.Content != row.Content || given[user] != row.Content {
			t.Errorf("user %d was given %q and has %q, %v; the cache has %q", user, given[user], d.Content, err, row.Content)
		}
	}
}

// A process is killed during its call. A waiting process makes the digest, once.
func TestOwnerIsKilled(t *testing.T) {
	const ttl = 2 * time.Second // the owner is killed long before
	claims := func(c *digest.Config) { c.ClaimTTL = ttl }
	w := newWorld(t, 2, claims)
	other, _ := w.process(claims)
	ann, bob, eve := w.user("ann", 1, 2), w.user("bob", 1, 2), w.user("eve", 1, 2)
	ledger := filepath.Join(t.TempDir(), "calls")
	owner := start(t, task{Database: w.path, Calls: ledger, Users: []int64{ann}, ClaimTTL: ttl, Hang: true})
	owner.begin()
	owner.wantSaid("call")

	results := make([]digest.Result, 2)
	var wg sync.WaitGroup
	for i, s := range []*digest.Service{w.Service, other} {
		wg.Go(func() { results[i] = w.generate(s, []int64{bob, eve}[i], digest.Daily) })
	}
	if n := w.rows("twofold_cells WHERE length(cell) = 9"); n != 1 {
		t.Errorf("there are %d claims, want the owner's", n)
	}
	w.wantCalls(0)
	owner.kill()
	wg.Wait()
	w.wantCalls(1)
	if calls := callsIn(t, ledger); len(calls) != 1 {
		t.Errorf("the owner called %d times", len(calls))
	}
	w.wantSame(bob, results[0])
	w.wantSame(eve, results[1])
	if results[0].Row.Content != results[1].Row.Content {
		t.Errorf("one was given %q, the other %q", results[0].Row.Content, results[1].Row.Content)
	}
	w.wantSame(ann, w.daily(ann)) // her request ended with the owner
	w.wantCalls(1)
	if n := w.rows("digest_cache"); n != 1 {
		t.Errorf("there are %d rows in the cache, want one", n)
	}
	if stats, err := w.Stats(t.Context()); err != nil || stats.Counts["llm_calls"] != 2 {
		t.Errorf("the books say %d calls, %v; want the owner's, too", stats.Counts["llm_calls"], err)
	}
}
