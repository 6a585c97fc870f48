package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/testserver"
)

// process is one database server. Its methods must not be called concurrently.
type process struct {
	testserver.Process

	name string // of the database, for errors
	bin  string
	args []string
	dir  string
	as   *account
}

// errPort means that another program took the port first.
var errPort = errors.New("the port is in use")

func (p *process) launch() error {
	p.Log = filepath.Join(p.dir, "server.log")
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	cmd := command(p.as, p.dir, p.bin, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.Launch(cmd); err != nil {
		return fmt.Errorf("dbtest: start %s: %w", p.name, err)
	}
	return nil
}

// up starts the process and waits until it answers a ping.
func (p *process) up(ping func(ctx context.Context) error) error {
	if p.Running() {
		return fmt.Errorf("dbtest: the %s server on port %d is already running", p.name, p.Port)
	}
	before := len(p.Logged())
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
		case <-p.Done():
			said := p.Logged()[before:]
			if strings.Contains(strings.ToLower(said), "already in use") {
				err = errPort
			}
			return fmt.Errorf("dbtest: the %s server on port %d ended: %w\n%s", p.name, p.Port, err, testserver.Last(said))
		case <-ctx.Done():
			p.end(os.Kill)
			return fmt.Errorf("dbtest: the %s server on port %d does not answer: %w\n%s", p.name, p.Port, err, testserver.Last(p.Logged()))
		case <-tick.C:
		}
	}
}

// end sends a signal, then SIGKILL, and waits until the process is gone.
func (p *process) end(sig os.Signal) { p.End(sig, 10*time.Second) }

// run runs a program that ends by itself.
func run(as *account, dir, bin string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := command(as, dir, bin, args...)
	timer := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer timer()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: %s: %w\n%s", filepath.Base(bin), err, testserver.Last(string(out)))
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
