package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

var (
	pauseSignal  os.Signal = syscall.SIGSTOP
	resumeSignal os.Signal = syscall.SIGCONT
	quitSignal   os.Signal = syscall.SIGQUIT
)

// apply has the command run as the account.
func (a *account) apply(cmd *exec.Cmd) {
	if a != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
	}
}

// endWithParent has the kernel end the server when this process dies in whatever
// way. A group of its own keeps the terminal's interrupt away from it.
func endWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true
}

// children returns the processes that pid started.
func children(pid int) ([]int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	var pids []int
	for f := range strings.FieldsSeq(string(b)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, fmt.Errorf("dbtest: %w", err)
		}
		pids = append(pids, n)
	}
	return pids, nil
}

// alive reports whether a process exists that is not a zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, ok := strings.Cut(string(b), ") ") // the name before may have spaces
	return err == nil && ok && !strings.HasPrefix(state, "Z")
}
