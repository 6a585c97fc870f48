//go:build !unix

package dbtest

import (
	"os"
	"os/exec"
)

// Without signals a server can be killed, but not paused.
var (
	pauseSignal  os.Signal
	resumeSignal os.Signal
	quitSignal   = os.Kill
)

func (a *account) apply(*exec.Cmd) {}

func endWithParent(*exec.Cmd) {}

func children(int) ([]int, error) { return nil, errLinux }

func stopped(int) bool { return true }

func alive(int) bool { return false }

func freeSegment(string) {}
