//go:build unix && !linux

package redistest

import (
	"os"
	"syscall"
)

var (
	pauseSignal  os.Signal = syscall.SIGSTOP
	resumeSignal os.Signal = syscall.SIGCONT
	endSignal    os.Signal = syscall.SIGTERM
)

func sysProcAttr() *syscall.SysProcAttr { return nil }
