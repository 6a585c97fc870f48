package proc

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Supported says whether this system has what a run needs.
const Supported = true

// Now returns nanoseconds of CLOCK_MONOTONIC, which is one clock for all
// processes of the machine.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the kernel always has this clock
	}
	return t.Nano()
}

// tie has the kernel kill the child when this process dies. A group of its own
// keeps the terminal's interrupt away from it: it is told by its input.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// Pause stops the child until Resume.
func (c *Child) Pause() error { return c.signal(syscall.SIGSTOP) }

// Resume lets a paused child go on.
func (c *Child) Resume() error { return c.signal(syscall.SIGCONT) }

func (c *Child) signal(sig syscall.Signal) error {
	if c.ended() {
		return errors.New("proc: the child has ended")
	}
	if err := c.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	return nil
}
