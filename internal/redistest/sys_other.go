//go:build !unix

package redistest

import (
	"os"
	"syscall"
)

// Without signals a server can be killed, but not paused.
var (
	pauseSignal  os.Signal
	resumeSignal os.Signal
	endSignal    = os.Kill
)

func sysProcAttr() *syscall.SysProcAttr { return nil }
