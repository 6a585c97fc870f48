package dbtest

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/testserver"
)

// pause stops a process and returns when it has stopped.
func pause(pid int) error { return signal(pid, testserver.Pause, stopped) }

// resume resumes a stopped process.
func resume(pid int) error { return signal(pid, testserver.Resume, nil) }

// kill ends a process and returns when it is gone.
func kill(pid int) error { return signal(pid, os.Kill, func(pid int) bool { return !alive(pid) }) }

// signal sends a signal and waits until done reports its effect. It is not an error if the process
// has already ended.
func signal(pid int, sig os.Signal, done func(pid int) bool) error {
	if sig == nil {
		return errLinux
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(sig)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("dbtest: signal %v to process %d: %w", sig, pid, err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for done != nil && !done(pid) {
		if time.Now().After(deadline) {
			return fmt.Errorf("dbtest: signal %v has no effect on process %d", sig, pid)
		}
		<-time.After(time.Millisecond)
	}
	return nil
}
