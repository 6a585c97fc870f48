package testserver

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end the server when this process dies in any way. The server gets
// its own process group, so the terminal's interrupt does not reach it.
func endWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true
}
