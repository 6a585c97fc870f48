package redistest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// process is one redis-server. The tests that own it must coordinate concurrent calls of its
// methods.
type process struct {
	bin  string
	dir  string
	port int
	args []string

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// ServerEnv names the server binary to start instead of redis-server from the PATH: another
// version, or another server with the same protocol.
const ServerEnv = "TWOFOLD_REDIS_SERVER"

// findServer returns the path of redis-server or fails the test.
func findServer(t testing.TB) string {
	t.Helper()
	bin, err := exec.LookPath(cmp.Or(os.Getenv(ServerEnv), "redis-server"))
	if err == nil {
		return bin
	}
	if os.Getenv("CI") != "" {
		t.Fatal("redistest: no redis-server in the PATH of this CI job, and REDIS_URL is not set")
	}
	t.Fatal("redistest: no redis-server in the PATH; run the tests by `make test`, which installs it, or set REDIS_URL")
	return ""
}

func (p *process) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

func (p *process) logFile() string { return filepath.Join(p.dir, "redis.log") }

// launch starts the process. On Linux the kernel sends Pdeathsig when the thread that forked dies,
// not when its process dies. Therefore the thread stays until the server has ended.
func (p *process) launch() error {
	p.cmd = exec.Command(p.bin, p.args...)
	p.cmd.Dir = p.dir
	p.cmd.SysProcAttr = sysProcAttr()
	p.done = make(chan struct{})
	started := make(chan error)
	go func(cmd *exec.Cmd, done chan struct{}) {
		runtime.LockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the server's log says how it ended
		}
	}(p.cmd, p.done)
	return <-started
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) signal(sig os.Signal) error {
	if !p.running() {
		return nil
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("redistest: signal %v to the server on port %d: %w", sig, p.port, err)
	}
	return nil
}

// end stops the process with increasingly strong signals and waits for it.
func (p *process) end() {
	if resumeSignal != nil {
		_ = p.signal(resumeSignal) // a paused process takes no other signal
	}
	_ = p.signal(endSignal)
	select {
	case <-p.done:
	case <-time.After(2 * time.Second):
		_ = p.signal(os.Kill)
		<-p.done
	}
}

// tail returns the last part of the server's log.
func (p *process) tail() string {
	b, err := os.ReadFile(p.logFile())
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	return string(b[max(0, len(b)-4000):])
}

// Ports below the range of outgoing connections, with room for the cluster bus 10,000 above.
const (
	firstPort = 11_000
	lastPort  = 22_000
	busOffset = 10_000
)

// freePort returns a port that was free a moment ago, with its bus port.
func freePort() (int, error) {
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if canListen(port) && canListen(port+busOffset) {
			return port, nil
		}
	}
	return 0, errors.New("redistest: no free port found")
}

func canListen(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
