package dbtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// process is one database server. Its methods must not be called concurrently.
type process struct {
	name string // of the database, for errors
	bin  string
	args []string
	dir  string
	as   *account
	port int

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// errPort means that another program took the port first.
var errPort = errors.New("the port is in use")

func (p *process) logFile() string { return filepath.Join(p.dir, "server.log") }

// launch starts the process. On Linux the kernel sends Pdeathsig when the thread that forked dies,
// not when its process dies. Therefore the thread stays until the server has ended.
func (p *process) launch() error {
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	p.cmd = command(p.as, p.dir, p.bin, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	endWithParent(p.cmd)
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
	if err := <-started; err != nil {
		return fmt.Errorf("dbtest: start %s: %w", p.name, err)
	}
	return nil
}

// up starts the process and waits until it answers a ping.
func (p *process) up(ping func(ctx context.Context) error) error {
	if p.running() {
		return fmt.Errorf("dbtest: the %s server on port %d is already running", p.name, p.port)
	}
	before := len(p.log())
	if err := p.launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := ping(try)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			said := p.log()[before:]
			if strings.Contains(strings.ToLower(said), "already in use") {
				err = errPort
			}
			return fmt.Errorf("dbtest: the %s server on port %d ended: %w\n%s", p.name, p.port, err, last(said))
		case <-ctx.Done():
			p.end(os.Kill)
			return fmt.Errorf("dbtest: the %s server on port %d does not answer: %w\n%s", p.name, p.port, err, last(p.log()))
		case <-tick.C:
		}
	}
}

func (p *process) running() bool {
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

// end sends a signal, then SIGKILL, and waits until the process is gone.
func (p *process) end(sig os.Signal) {
	if !p.running() {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *process) log() string {
	b, _ := os.ReadFile(p.logFile()) // there is no file before the first start
	return string(b)
}

// last returns the end of a log, for an error text.
func last(log string) string { return log[max(0, len(log)-4000):] }

// run runs a program that ends by itself.
func run(as *account, dir, bin string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := command(as, dir, bin, args...)
	timer := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer timer()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: %s: %w\n%s", filepath.Base(bin), err, last(string(out)))
	}
	return nil
}

// command returns a command with its own environment, because variables such as PGOPTIONS and
// MYSQL_HOME would change what a server does.
func command(as *account, dir, bin string, args ...string) *exec.Cmd {
	cmd := exec.Command(bin, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(bin) + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C", "TZ=UTC"}
	as.apply(cmd)
	return cmd
}

// Ports below the range of outgoing connections.
const (
	firstPort = 11_000
	lastPort  = 32_000
)

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = l.Close()
			return port, nil
		}
	}
	return 0, errors.New("dbtest: no free port found")
}
