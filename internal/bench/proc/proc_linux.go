package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/twofold-go/twofold/internal/bench/setup"
)

// Supported says whether this system has what a run needs.
const Supported = true

// Now returns nanoseconds of CLOCK_MONOTONIC. All processes of the machine share this clock.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the kernel always has this clock
	}
	return t.Nano()
}

// tie makes the kernel kill the child when this process dies. The child has its own process group,
// so that the terminal's interrupt does not reach it; its input asks it to end.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// KillSelf ends this process immediately.
func KillSelf() {
	_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	select {}
}

// StopSelf stops this process until its parent resumes it.
func StopSelf() { _ = unix.Kill(unix.Getpid(), unix.SIGSTOP) }

// Paused reports whether the child is stopped.
func (c *Child) Paused() bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid)) // no file: the child has ended
	_, state, _ := bytes.Cut(b, []byte(") "))                            // the name before may contain spaces
	return bytes.HasPrefix(state, []byte("T"))
}

// Pause stops the child until Resume.
func (c *Child) Pause() { c.signal(syscall.SIGSTOP) }

// Resume resumes a paused child.
func (c *Child) Resume() { c.signal(syscall.SIGCONT) }

func (c *Child) signal(sig syscall.Signal) {
	if c.Ended() {
		setup.Check(errors.New("proc: the child has ended"))
	}
	setup.Check(c.cmd.Process.Signal(sig))
}
