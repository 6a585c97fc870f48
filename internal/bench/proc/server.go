package proc

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/internal/testkit/testserver"
)

// FreeAddr returns an address of this machine that nothing listens on.
func FreeAddr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(setup.Must(testserver.FreePort(0))))
}

// Server is another program, which listens.
type Server struct{ testserver.Process }

// Serve starts a program that listens on addr, waits until it answers, and ends it with t.
func Serve(t *setup.T, addr string, cmd *exec.Cmd) *Server {
	s := &Server{}
	setup.Check(s.Launch(cmd))
	t.Cleanup(func() { s.End(testserver.Terminate, 10*time.Second) })
	redistest.Eventually(t, "it does not answer", func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	return s
}

// CPU returns the processor time of the program and its children so far, or 0 if it is unknown.
func (s *Server) CPU() (sum time.Duration) {
	const tick = 10 * time.Millisecond // of Linux, on every common machine
	proc := os.DirFS("/proc")
	stats, _ := fs.Glob(proc, "[0-9]*/stat") // the pattern is valid
	for _, name := range stats {
		text, _ := fs.ReadFile(proc, name)            // it may have ended
		_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may have spaces
		f, root := strings.Fields(rest), strconv.Itoa(s.PID())
		if len(f) > 12 && (name == root+"/stat" || f[1] == root) {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			sum += time.Duration(user+system) * tick
		}
	}
	return sum
}
