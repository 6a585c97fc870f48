package proc

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
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

// KillSelf ends this process immediately.
func KillSelf() {
	_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	select {}
}

// StopSelf stops this process until its parent resumes it.
func StopSelf() { _ = unix.Kill(unix.Getpid(), unix.SIGSTOP) }

// Paused reports whether the child is stopped.
func (c *Child) Paused() bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID())) // no file: the child has ended
	_, state, _ := bytes.Cut(b, []byte(") "))                  // the name before may contain spaces
	return bytes.HasPrefix(state, []byte("T"))
}
