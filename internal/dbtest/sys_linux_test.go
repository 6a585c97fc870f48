package dbtest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
)

// serverFile returns the lines of the file in which a running server notes its process and its
// shared memory.
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

// hasSegment reports whether the kernel has that shared memory segment.
func hasSegment(t *testing.T, id int) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/sysvipc/shm")
	check(t, err)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == strconv.Itoa(id) {
			return true
		}
	}
	return false
}

// TestChild is the second process of diesWithItsTest.
func TestChild(t *testing.T) {
	ready := os.Getenv(readyEnv)
	if ready == "" {
		t.Skip("runs only in a process of TestPostgres")
	}
	s, err := dbtest.StartPostgres("")
	check(t, err)
	check(t, os.WriteFile(ready, []byte(s.SocketDir()), 0o600))
	_, err = io.Copy(io.Discard, os.Stdin)
	check(t, errors.Join(err, s.Close()))
}

// diesWithItsTest starts a server in a second process and kills that process. The next process that
// starts a server removes the remains.
func diesWithItsTest(t *testing.T) {
	dir, child, _ := startChild(t)
	pid, err := strconv.Atoi(serverFile(t, dir)[0])
	check(t, err)
	if !exists(pid) {
		t.Fatalf("no process %d: this test looks in the wrong place", pid)
	}
	segment := segmentOf(t, dir)
	check(t, child.Process.Kill())
	_ = child.Wait()
	within(t, "the server outlives the test", func() bool { return !exists(pid) })

	old := time.Now().Add(-time.Hour) // a young folder may belong to a starting process
	check(t, os.Chtimes(dir, old, old))
	_, child, finish := startChild(t)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead process is still there: %v", err)
	}
	if hasSegment(t, segment) {
		t.Errorf("the shared memory %d of a dead process is still there", segment)
	}
	check(t, finish.Close())
	check(t, child.Wait())
}

const readyEnv = "DBTEST_CHILD_READY"

// startChild starts a process with a server, and returns the server's folder. Closing stdin ends
// both in order.
func startChild(t *testing.T) (dir string, cmd *exec.Cmd, stdin io.Closer) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), readyEnv+"="+ready)
	stdin, err := cmd.StdinPipe()
	check(t, err)
	check(t, cmd.Start())
	within(t, "the child starts no server", func() bool {
		b, err := os.ReadFile(ready)
		dir = string(b)
		return err == nil && dir != ""
	})
	return dir, cmd, stdin
}

func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for ; !done(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

func exists(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.HasPrefix(string(b), "postgres")
}
