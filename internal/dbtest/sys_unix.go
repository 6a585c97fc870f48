//go:build unix && !linux

package dbtest

import (
	"os/exec"
	"syscall"
)

// apply makes the command run as the account.
func (a *account) apply(cmd *exec.Cmd) {
	if a != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
	}
}

func children(int) ([]int, error) { return nil, errLinux }

func stopped(int) bool { return true }

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func freeSegment(string) {}
