package workload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/redistest"
)

// proxy is another program that caches pages, as a process of its own between the clients and the
// bare handler.
type proxy struct {
	addr string
	cmd  *exec.Cmd
}

// proxyKind is a program that can be started as a proxy.
type proxyKind struct {
	name string
	file string                                            // the program
	conf string                                            // its configuration; %[1]s is its address, %[2]s the origin's host, %[3]s the origin's port, %[4]s its folder
	args func(conf, addr, dir string) (arguments []string) // of the command line
}

var proxyKinds = []proxyKind{
	{
		name: "nginx", file: "nginx", conf: `daemon off;
user root; # ignored unless it is started by root, whose folder no other user may read
worker_processes auto;
pid %[4]s/pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
	access_log off;
	keepalive_requests 1000000000;
	keepalive_timeout 600s;
	client_body_temp_path %[4]s/body;
	proxy_temp_path %[4]s/proxy;
	fastcgi_temp_path %[4]s/fastcgi;
	uwsgi_temp_path %[4]s/uwsgi;
	scgi_temp_path %[4]s/scgi;
	proxy_cache_path %[4]s/cache keys_zone=pages:16m max_size=64m;
	server {
		listen %[1]s;
		location / {
			proxy_pass http://%[2]s:%[3]s;
			proxy_set_header Host $host;
			proxy_cache pages;
			add_header X-Cache $upstream_cache_status;
		}
	}
}
`,
		args: func(conf, _, dir string) []string { return []string{"-c", conf, "-p", dir, "-e", "stderr"} },
	},
	{
		name: "varnish", file: "varnishd", conf: `vcl 4.1;
backend default { .host = "%[2]s"; .port = "%[3]s"; }
`,
		args: func(conf, addr, dir string) []string {
			return []string{"-F", "-j", "none", "-f", conf, "-a", addr, "-s", "malloc,64m", "-n", filepath.Join(dir, "work"), "-T", "none",
				"-p", "timeout_idle=600"} // the contenders take turns
		},
	},
}

// start starts the proxy in front of the origin until t is closed, and waits until it answers.
func (k *proxyKind) start(t *setup.T, origin string) (p *proxy, err error) {
	file, err := exec.LookPath(k.file)
	if errors.Is(err, exec.ErrNotFound) { // not in the PATH of a user, but of the system
		file, err = exec.LookPath("/usr/sbin/" + k.file)
	}
	if err != nil {
		return nil, err
	}
	err = setup.Try(func() {
		addr := freeAddr(t.Context())
		host, port, _ := net.SplitHostPort(origin) // an address of this process
		dir := t.TempDir()
		setup.Check(os.Chmod(dir, 0o755)) //nolint:gosec // its workers may run as another user
		conf := filepath.Join(dir, "conf")
		setup.Check(os.WriteFile(conf, fmt.Appendf(nil, k.conf, addr, host, port, dir), 0o644)) //nolint:gosec // the same
		p = &proxy{addr: addr, cmd: exec.Command(file, k.args(conf, addr, dir)...)}             //nolint:gosec // a known program
		setup.Check(p.cmd.Start())
		t.Closing(p.stop)
		redistest.Eventually(t, "it does not answer", func(ctx context.Context) error {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
			if err == nil {
				err = c.Close()
			}
			return err
		})
	})
	return p, err
}

// stop ends the proxy with its workers.
func (p *proxy) stop() error {
	return errors.Join(p.cmd.Process.Signal(syscall.SIGTERM), p.cmd.Wait())
}

// cpu returns the processor time of the proxy and its workers so far, or 0 if it is unknown.
func (p *proxy) cpu() time.Duration {
	if p == nil {
		return 0
	}
	const tick = 10 * time.Millisecond // of Linux, on every common machine
	parents, ticks := map[int]int{}, map[int]time.Duration{}
	stats, _ := fs.Glob(os.DirFS("/proc"), "[0-9]*/stat") // the pattern is valid
	for _, name := range stats {
		text, err := os.ReadFile(filepath.Join("/proc", name))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may have spaces
		f := strings.Fields(rest)
		if len(f) < 13 {
			continue
		}
		pid, _ := strconv.Atoi(strings.TrimSuffix(name, "/stat"))
		parents[pid], _ = strconv.Atoi(f[1])
		user, _ := strconv.Atoi(f[11])
		system, _ := strconv.Atoi(f[12])
		ticks[pid] = time.Duration(user+system) * tick
	}
	var sum time.Duration
	for pid, t := range ticks {
		for at, depth := pid, 0; at > 1 && depth < 10; at, depth = parents[at], depth+1 {
			if at == p.cmd.Process.Pid {
				sum += t
				break
			}
		}
	}
	return sum
}

// freeAddr returns an address of this machine that nothing listens on.
func freeAddr(ctx context.Context) string {
	l := setup.Must(new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"))
	setup.Check(l.Close())
	return l.Addr().String()
}
