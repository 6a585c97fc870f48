package workload

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// proxyKind is another program that caches pages, as a process of its own between the clients and the
// bare handler.
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
func (k *proxyKind) start(t *setup.T, origin string) (addr string, p *proc.Server, err error) {
	file, err := exec.LookPath(k.file)
	if errors.Is(err, exec.ErrNotFound) { // not in the PATH of a user, but of the system
		file, err = exec.LookPath("/usr/sbin/" + k.file)
	}
	if err != nil {
		return "", nil, err
	}
	err = setup.Try(func() {
		addr = proc.FreeAddr(t.Context())
		host, port, _ := net.SplitHostPort(origin) // an address of this process
		dir := t.TempDir()
		setup.Check(os.Chmod(dir, 0o755)) //nolint:gosec // its workers may run as another user
		conf := filepath.Join(dir, "conf")
		setup.Check(os.WriteFile(conf, fmt.Appendf(nil, k.conf, addr, host, port, dir), 0o644)) //nolint:gosec // the same
		p = proc.Serve(t, addr, exec.Command(file, k.args(conf, addr, dir)...))                 //nolint:gosec // a known program
	})
	return addr, p, err
}
