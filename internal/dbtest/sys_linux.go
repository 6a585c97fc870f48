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

// apply makes the command run as the account.
func (a *account) apply(cmd *exec.Cmd) {
	if a != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
	}
}

// children returns the child processes of pid.
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

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	st := state(fmt.Sprintf("/proc/%d/stat", pid))
	return st != "" && st != "Z"
}

// stopped reports whether all threads of a process are stopped. They stop a moment after the signal
// is sent.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is well formed
	for _, file := range threads {
		if st := state(file); st != "T" && st != "Z" && st != "" {
			return false
		}
	}
	return true
}

// state returns the kernel's state letter of a thread, or "" if the thread has ended.
func state(file string) string {
	b, _ := os.ReadFile(file)
	_, after, _ := strings.Cut(string(b), ") ") // the name before may contain spaces
	return after[:min(1, len(after))]
}

// freeSegment removes the shared memory segment that a killed PostgreSQL server leaves behind. The
// server's next start would do so, but not after its data folder was replaced or removed. The
// server notes the segment's number in its data folder.
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
