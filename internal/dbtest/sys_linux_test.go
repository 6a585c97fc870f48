package dbtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/twofold-go/twofold/internal/dbtest"
)

// serverFile returns the lines of the file in which a running server notes its
// process and its shared memory.
func serverFile(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	check(t, err)
	return strings.Split(string(b), "\n")
}

// segmentOf returns the number of a running server's shared memory.
func segmentOf(t *testing.T, dir string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.Fields(serverFile(t, dir)[6])[1])
	check(t, err)
	return n
}

func TestKillLeavesNoSharedMemory(t *testing.T) {
	s := dbtest.Postgres(t)
	segment := strconv.Itoa(segmentOf(t, s.SocketDir()))
	has := func() bool {
		b, err := os.ReadFile("/proc/sysvipc/shm")
		check(t, err)
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 && f[1] == segment {
				return true
			}
		}
		return false
	}
	if !has() {
		t.Fatalf("a running server has no segment %s: this test looks in the wrong place", segment)
	}
	check(t, s.Kill())
	if has() {
		t.Errorf("segment %s of a killed server is still there", segment)
	}
}

const dirEnv = "DBTEST_CHILD_DIR"

// TestServerDiesWithItsTest runs itself in a second process, which is killed.
func TestServerDiesWithItsTest(t *testing.T) {
	if dir := os.Getenv(dirEnv); dir != "" {
		_, err := dbtest.StartPostgres(dir)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600))
		select {}
	}
	s := dbtest.Postgres(t) // has a folder that the server's user reaches
	dir := filepath.Join(s.SocketDir(), "child")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), dirEnv+"="+dir)
	check(t, cmd.Start())
	within(t, "the child starts no server", func() bool {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil
	})
	pid, err := strconv.Atoi(serverFile(t, dir)[0])
	check(t, err)
	if !exists(pid) {
		t.Fatalf("no process %d: this test looks in the wrong place", pid)
	}
	segment := segmentOf(t, dir)
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	within(t, "the server outlives the test", func() bool { return !exists(pid) })
	_, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil) // nothing else would
}

func exists(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.HasPrefix(string(b), "postgres")
}

func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for ; !done(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}
