package proc

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/redistest"
)

// FreeAddr returns an address of this machine that nothing listens on.
func FreeAddr(ctx context.Context) string {
	l := setup.Must(new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"))
	setup.Check(l.Close())
	return l.Addr().String()
}

// Server is another program, which listens.
type Server struct{ cmd *exec.Cmd }

// Serve starts a program that listens on addr, waits until it answers, and ends it with t.
func Serve(t *setup.T, addr string, cmd *exec.Cmd) *Server {
	setup.Check(cmd.Start())
	t.Closing(func() error { return errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()) })
	redistest.Eventually(t, "it does not answer", func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	return &Server{cmd}
}

// CPU returns the processor time of the program and its children so far, or 0 if it is unknown.
func (s *Server) CPU() (sum time.Duration) {
	const tick = 10 * time.Millisecond // of Linux, on every common machine
	proc := os.DirFS("/proc")
	stats, _ := fs.Glob(proc, "[0-9]*/stat") // the pattern is valid
	for _, name := range stats {
		text, _ := fs.ReadFile(proc, name)            // it may have ended
		_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may have spaces
		f, root := strings.Fields(rest), strconv.Itoa(s.cmd.Process.Pid)
		if len(f) > 12 && (name == root+"/stat" || f[1] == root) {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			sum += time.Duration(user+system) * tick
		}
	}
	return sum
}
