// Package testserver runs servers for tests, as processes that end with the test, even if the test is
// killed (Linux). Package redistest and package dbtest are made of it.
package testserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Process is one server. The tests that own it must coordinate concurrent calls of its methods. The
// zero Process has not been started.
type Process struct {
	Port int
	Log  string // the file that the server logs to

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// Launch starts the process. On Linux the kernel sends Pdeathsig when the thread that forked dies,
// not when its process dies. Therefore the thread stays until the server has ended.
func (p *Process) Launch(cmd *exec.Cmd) error {
	endWithParent(cmd)
	p.cmd, p.done = cmd, make(chan struct{})
	started := make(chan error)
	go func(done chan struct{}) {
		runtime.LockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the server's log says how it ended
		}
	}(p.done)
	return <-started
}

// Running reports whether the process was started and has not ended.
func (p *Process) Running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID returns the number of the process, which must have been started.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal, unless the process has ended.
func (p *Process) Signal(sig os.Signal) error {
	if !p.Running() {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %v to the server on port %d: %w", sig, p.Port, err)
	}
	return nil
}

// End sends a signal, and SIGKILL when the process does not end in time. It waits until the process
// is gone.
func (p *Process) End(sig os.Signal, patience time.Duration) {
	if !p.Running() {
		return
	}
	_ = p.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.Signal(os.Kill)
		<-p.done
	}
}

// Logged returns the server's log, or "" when there is none.
func (p *Process) Logged() string {
	b, _ := os.ReadFile(p.Log) // there is no file before the first start
	return string(b)
}

// Last returns the end of a log, for an error text.
func Last(log string) string { return log[max(0, len(log)-4000):] }

// given are the ports that FreePort has returned.
var given = struct {
	sync.Mutex

	ports map[int]bool
}{ports: map[int]bool{}}

// FreePort returns a port that was free a moment ago, and so was the one that is above it by more. It
// is below the range of outgoing connections. A server that is restarted needs its port again: so no port
// is returned twice, and another process has other ones most of the time.
func FreePort(more int) (int, error) {
	const first, last, apart = 11_000, 32_000, 16
	given.Lock()
	defer given.Unlock()
	for range 2 {
		for range 400 {
			port := first + apart*rand.IntN((last-more-first)/apart) + os.Getpid()%apart
			if !given.ports[port] && canListen(port) && canListen(port+more) {
				given.ports[port] = true
				return port, nil
			}
		}
		clear(given.ports) // this process has started hundreds of servers
	}
	return 0, errors.New("no free port found")
}

func canListen(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
