//go:build unix

package testserver

import (
	"os"
	"syscall"
)

// The signals that pause, resume and end a server.
var (
	Pause     os.Signal = syscall.SIGSTOP
	Resume    os.Signal = syscall.SIGCONT
	Quit      os.Signal = syscall.SIGQUIT
	Terminate os.Signal = syscall.SIGTERM
)
