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

// sysProcAttr makes the kernel end the server when this process dies in any way.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
