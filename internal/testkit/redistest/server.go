package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/twofold-go/twofold/internal/testkit/testserver"
)

// Server is one Redis server. The methods that signal the process fail their test if they cannot,
// and skip it if redistest did not start the server.
type Server struct {
	t     testing.TB
	proc  *process       // nil for an existing server, named by REDIS_URL
	base  *redis.Options // of REDIS_URL
	admin *redis.Client
}

// process is one redis-server.
type process struct {
	testserver.Process

	bin, dir string
	args     []string
}

// end stops the process with increasingly strong signals and waits for it.
func (p *process) end() {
	if testserver.Resume != nil {
		_ = p.Signal(testserver.Resume) // a paused process takes no other signal
	}
	p.End(testserver.Terminate, 2*time.Second)
}

// busOffset is how far the cluster bus is above the port.
const busOffset = 10_000

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

// An Option changes how a server is started.
type Option struct{ args []string }

// Args adds arguments to the command line of redis-server, such as Args("--maxmemory", "2mb"). A
// server from REDIS_URL accepts none, so the test is skipped.
func Args(args ...string) Option { return Option{args} }

// Start returns a running server that ends with the test.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	if url := os.Getenv("REDIS_URL"); url != "" {
		return useServer(t, url, opts)
	}
	return startServer(t, opts...)
}

func useServer(t testing.TB, url string, opts []Option) *Server {
	t.Helper()
	if len(opts) > 0 {
		t.Skip("needs a redis-server with its own settings; the server of REDIS_URL may be shared")
	}
	base, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("redistest: REDIS_URL: %v", err)
	}
	s := &Server{t: t, base: base}
	s.connect()
	if err := s.admin.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("redistest: the server of REDIS_URL does not answer: %v", err)
	}
	return s
}

// startServer starts a process even if REDIS_URL is set.
func startServer(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return launch(t, func(port int) []string { return commandLine(port, opts) })
}

// launch starts redis-server with the arguments for a port. Another program may take the port
// before the server binds it; then launch tries another port.
func launch(t testing.TB, args func(port int) []string) *Server {
	t.Helper()
	bin := findServer(t)
	var log string
	for range 5 {
		port, err := testserver.FreePort(busOffset)
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
		dir := t.TempDir()
		p := &process{
			Process: testserver.Process{Port: port, Log: filepath.Join(dir, "redis.log")},
			bin:     bin, dir: dir, args: args(port),
		}
		s := &Server{t: t, proc: p}
		err = s.up()
		if err == nil {
			t.Cleanup(p.end)
			return s
		}
		p.end()
		log = fmt.Sprintf("%v\n%s", err, testserver.Last(p.Logged()))
		if !strings.Contains(log, "in use") {
			break
		}
	}
	t.Fatalf("redistest: redis-server does not start: %s", log)
	return nil
}

func commandLine(port int, opts []Option) []string {
	args := []string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--logfile", "redis.log", "--loglevel", "notice", "--daemonize", "no",
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0",
	}
	for _, o := range opts {
		args = append(args, o.args...)
	}
	return args
}

// up launches the process and waits until it answers.
func (s *Server) up() error {
	cmd := exec.Command(s.proc.bin, s.proc.args...)
	cmd.Dir = s.proc.dir
	if err := s.proc.Launch(cmd); err != nil {
		return err
	}
	if s.admin == nil {
		s.connect()
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	return poll(ctx, func(ctx context.Context) error {
		if !s.proc.Running() {
			return permanent{fmt.Errorf("redistest: the server on port %d ended", s.proc.Port)}
		}
		return s.admin.Ping(ctx).Err()
	})
}

func (s *Server) connect() {
	// The client logs hundreds of lines about servers that are killed on purpose, for the whole
	// process. They would hide the lines of a failed test.
	logging.Disable()
	s.admin = redis.NewClient(s.Options())
	s.t.Cleanup(func() { _ = s.admin.Close() })
}

// Addr returns host:port.
func (s *Server) Addr() string {
	if s.proc == nil {
		return s.base.Addr
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.proc.Port))
}

// Port returns only the port.
func (s *Server) Port() string {
	_, port, _ := net.SplitHostPort(s.Addr())
	return port
}

// Options returns options for a client of the server. The client obeys deadlines and does not
// retry, as Twofold requires. The caller may change them.
func (s *Server) Options() *redis.Options {
	o := &redis.Options{}
	if s.base != nil {
		o, _ = redis.ParseURL(os.Getenv("REDIS_URL")) // parsed successfully before
	}
	o.Addr = s.Addr()
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.DialTimeout = time.Second
	o.DialerRetries = 1
	o.ReadTimeout = 2 * time.Second
	o.WriteTimeout = 2 * time.Second
	o.DisableIdentity = true
	o.MaintNotificationsConfig = noMaintenance()
	return o
}

// noMaintenance keeps new connections from sending a command that our servers do not know.
func noMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Client returns a new client with [Server.Options], closed with the test that
// started the server.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(s.Options())
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Do runs one command over a separate connection and fails t if the server answers with an error.
// It returns nil for no reply.
func (s *Server) Do(t testing.TB, args ...any) any {
	t.Helper()
	v, err := s.admin.Do(t.Context(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("redistest: %v: %v", args, err)
	}
	return v
}

// own returns the process, or skips t if redistest did not start it.
func (s *Server) own(t testing.TB) *process {
	t.Helper()
	if s.proc == nil {
		t.Skip("stops a redis-server; the server of REDIS_URL may be shared; unset REDIS_URL to run this test")
	}
	return s.proc
}

// Stop pauses the process (SIGSTOP): connections stay open, but the server does not answer.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.signal(t, testserver.Pause)
}

// Cont resumes a paused process (SIGCONT).
func (s *Server) Cont(t testing.TB) {
	t.Helper()
	s.signal(t, testserver.Resume)
}

func (s *Server) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	p := s.own(t)
	if sig == nil {
		t.Skip("pauses a redis-server, which needs SIGSTOP and SIGCONT")
	}
	if err := p.Signal(sig); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

// Kill ends the process by SIGKILL and waits until it is gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.signal(t, os.Kill)
	<-s.proc.Done()
}

// Restart ends the process if it runs and starts it again on the same port,
// with the same arguments and directory.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	p := s.own(t)
	p.end()
	if err := s.up(); err != nil {
		t.Fatalf("redistest: restart: %v\n%s", err, testserver.Last(p.Logged()))
	}
}
