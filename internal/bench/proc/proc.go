// Package proc provides what a run needs from the operating system: a clock that all processes of
// the machine share, and child processes that can be paused and never
// outlive their parent.
package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
)

// ErrSystem means that this system lacks what a run needs.
var ErrSystem = errors.New("needs Linux: a monotonic clock that processes share, SIGSTOP, and children that die with their parent")

// Child is a running process.
type Child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *json.Decoder // of its output
	done  chan struct{} // closed when the process has ended
	err   error         // how it ended; valid after done
}

// Start runs cmd until the caller ends its input and it returns, or until this process dies. The
// thread that forks stays until the child ends, because the kernel kills the child when that thread
// dies.
func Start(cmd *exec.Cmd) (*Child, error) {
	if !Supported {
		return nil, ErrSystem
	}
	tie(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	c := &Child{cmd: cmd, stdin: stdin, out: json.NewDecoder(out), done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(c.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	return c, nil
}

// Finish ends the child's input, which asks the child to end.
func (c *Child) Finish() { _ = c.stdin.Close() }

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err returns how the child ended. Call it only after Done.
func (c *Child) Err() error { return c.err }

// Kill ends the child immediately, even if it is paused, and waits for it.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

func (c *Child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Tell writes a value to the child's input, as JSON.
func (c *Child) Tell(v any) error {
	if err := json.NewEncoder(c.stdin).Encode(v); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	return nil
}

// Hear reads the next value from the child's output.
func (c *Child) Hear(v any) error {
	if err := c.out.Decode(v); err != nil {
		return fmt.Errorf("proc: a child that does not answer: %w", err)
	}
	return nil
}
