// Package proc runs this program again as its own children, which never outlive it and can be
// paused. It also provides a clock that all processes of the machine share. Its functions fail by
// [setup.Check].
package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/testserver"
)

// ErrSystem means that this system lacks what a run needs.
var ErrSystem = errors.New("needs Linux: a monotonic clock that processes share, SIGSTOP, and children that die with their parent")

// Child is a running process.
type Child struct {
	testserver.Process

	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *json.Decoder // of its output
}

// Again runs this program once more, as a child with cfg as JSON in the environment variable env.
// More are further variables. The child runs until its input ends and it returns, or until this
// process dies.
func Again(env string, cfg any, stderr io.Writer, more ...string) *Child {
	if !Supported {
		setup.Check(ErrSystem)
	}
	cmd := exec.Command(setup.Must(os.Executable()))
	cmd.Env = append(append(os.Environ(), env+"="+string(setup.Must(json.Marshal(cfg)))), more...)
	out, to, err := os.Pipe() // that of cmd.StdoutPipe would lose the child's last words
	setup.Check(err)
	cmd.Stdout, cmd.Stderr = to, stderr
	c := &Child{cmd: cmd, stdin: setup.Must(cmd.StdinPipe()), out: json.NewDecoder(out)}
	err = c.Launch(cmd)
	_ = to.Close() // the child has its own
	setup.Check(err)
	return c
}

// Finish ends the child's input, which asks the child to end.
func (c *Child) Finish() { _ = c.stdin.Close() }

// Wait waits for the end of the child, and fails if the child did.
func (c *Child) Wait() error {
	<-c.Done()
	if how := c.cmd.ProcessState; !how.Success() {
		return fmt.Errorf("proc: the child ended with %v", how)
	}
	return nil
}

// Ended reports whether the child has ended.
func (c *Child) Ended() bool { return !c.Running() }

// Kill ends the child immediately, even if it is paused, and waits for it.
func (c *Child) Kill() { c.End(os.Kill, time.Minute) }

// Pause stops the child until Resume.
func (c *Child) Pause() { c.signal(testserver.Pause) }

// Resume resumes a paused child.
func (c *Child) Resume() { c.signal(testserver.Resume) }

func (c *Child) signal(sig os.Signal) {
	if c.Ended() {
		setup.Check(errors.New("proc: the child has ended"))
	}
	setup.Check(c.Signal(sig))
}

// Tell writes a value to the child's input, as JSON.
func (c *Child) Tell(v any) { setup.Check(json.NewEncoder(c.stdin).Encode(v)) }

// Hear reads the next value from the child's output.
func (c *Child) Hear(v any) {
	if err := c.out.Decode(v); err != nil {
		setup.Check(fmt.Errorf("proc: a child that does not answer: %w", err))
	}
}

// Task reads the cfg of [Again] in the child.
func Task[C any](env string) (cfg C) {
	if err := json.Unmarshal([]byte(os.Getenv(env)), &cfg); err != nil {
		setup.Check(fmt.Errorf("proc: %s: %w", env, err))
	}
	return cfg
}

// answer is what a child returns for an order.
type answer[D any] struct {
	Deed  D
	Error string
}

// Obey carries out orders from the parent until they end. A failed order does not end it.
func Obey[O, D any](do func(O) D) {
	answers, orders := json.NewEncoder(os.Stdout), json.NewDecoder(os.Stdin)
	for {
		var o O
		err := orders.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		setup.Check(err)
		var a answer[D]
		if err := setup.Try(func() { a.Deed = do(o) }); err != nil {
			a.Error = err.Error()
		}
		setup.Check(answers.Encode(a))
	}
}

// Crew is children that obey the same orders, and return a D for each.
type Crew[D any] []*Child

// Hire starts a crew with one child for each cfg. They end with t.
func Hire[D, C any](t *setup.T, env string, cfgs []C) (crew Crew[D]) {
	t.Cleanup(func() {
		for _, c := range crew {
			c.Finish()
		}
		for _, c := range crew {
			_ = c.Wait()
		}
	})
	for _, cfg := range cfgs {
		crew = append(crew, Again(env, cfg, os.Stderr))
	}
	return crew
}

// Tell gives an order to all children.
func (crew Crew[D]) Tell(order any) {
	for _, c := range crew {
		c.Tell(order)
	}
}

// Answers waits for the next answer of each child.
func (crew Crew[D]) Answers() []D {
	all := make([]D, len(crew))
	for i, c := range crew {
		var a answer[D]
		c.Hear(&a)
		if a.Error != "" {
			setup.Check(errors.New(a.Error))
		}
		all[i] = a.Deed
	}
	return all
}

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err() == nil
}

// SleepUntil sleeps until a time of [Now].
func SleepUntil(at int64) { time.Sleep(time.Duration(at - Now())) }
