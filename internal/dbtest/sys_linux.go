package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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
	st := state(fmt.Sprintf("/proc/%d/stat", pid))
	return st != "" && st != "Z"
}

// stopped reports whether all threads of a process are stopped. A signal that
// stops them arrives a moment after it was sent.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is well formed
	for _, file := range threads {
		if st := state(file); st != "T" && st != "Z" && st != "" {
			return false
		}
	}
	return true
}

// state returns the letter that the kernel has for a thread, or "" when it is gone.
func state(file string) string {
	b, _ := os.ReadFile(file)
	_, after, _ := strings.Cut(string(b), ") ") // the name before may have spaces
	return after[:min(1, len(after))]
}

// freeSegment removes the shared memory segment that a killed PostgreSQL server
// leaves behind. Its own next start would do so, but not after its data folder
// was replaced or removed. The server notes the number in its data folder.
func freeSegment(data string) {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	lines := strings.Split(string(b), "\n")
	if err != nil || len(lines) < 7 {
		return
	}
	var key, id int
	if n, _ := fmt.Sscan(lines[6], &key, &id); n == 2 {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) // 56 bytes: not worth an error
	}
}
