// Httpsuite runs the public suite of HTTP caches, http-cache-tests, against a handler and a shared
// client of package httpcache, each in front of the suite's own server. It exits with 1 if a required
// case fails that is not in known. Its argument is the folder of the suite; see make http-suite.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// known are the required cases of version 0.4.5 that fail, by the reason.
var known = map[string][]string{
	"RFC 9111, 5.1, ignores an invalid Age; this version is older": {
		"age-parse-nonnumeric", "age-parse-negative", "age-parse-float", "age-parse-prefix-twoline", "age-parse-dup-0",
		"age-parse-dup-0-twoline", "age-parse-dup-old", "age-parse-parameter", "age-parse-numeric-parameter",
	},
	"the suite takes the answer 502 for a stored one": {
		"stale-close-must-revalidate", "stale-close-proxy-revalidate", "stale-close-no-cache", "stale-close-s-maxage=2",
	},
	"not stored: it would be wrong for others": {
		"headers-store-Content-Range", "headers-store-Set-Cookie", "304-etag-update-response-Content-Range", "304-etag-update-response-Set-Cookie",
	},
	"net/http refuses the value": {"headers-store-Transfer-Encoding"},
	"only a client sees it: httputil.ReverseProxy removes it, and it is not stored": {"headers-store-Upgrade"},
	"it describes the stored body":                                         {"304-etag-update-response-Content-MD5", "304-etag-update-response-Content-Type"},
	"a 304 with another ETag confirms nothing, so the request is repeated": {"304-etag-update-response-ETag"},
	"Surrogate-Control is not CDN-Cache-Control (RFC 9213)": {
		"surrogate-max-age-0-expires", "surrogate-max-age-long-cc-max-age", "surrogate-no-store-cc-fresh", "surrogate-fresh-cc-nostore",
	},
}

// cases prints the kind of each case that is not for browsers only.
const cases = `import tests from './tests/index.mjs'; import more from './tests/surrogate-control.mjs'
console.log(JSON.stringify(Object.fromEntries([...tests, more].flatMap(s => s.tests).filter(t => !t.browser_only).map(t => [t.id, t.kind || 'required']))))`

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: httpsuite FOLDER, the folder of an unpacked http-cache-tests with its dependencies")
	}
	failed, err := run(context.Background(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, suite string) (failed int, err error) {
	kinds := map[string]string{}
	if err := node(ctx, suite, nil, &kinds, "--input-type=module", "-e", cases); err != nil {
		return 0, err
	}
	origin, end, err := serveOrigin(ctx, suite)
	if err != nil {
		return 0, err
	}
	defer end()
	for _, side := range []string{"handler", "client"} {
		n, err := check(ctx, suite, side, origin, kinds)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", side, err)
		}
		failed += n
	}
	return failed, nil
}

// check runs the suite against one side, and returns how many required cases fail that are not known.
func check(ctx context.Context, suite, side string, origin *url.URL, kinds map[string]string) (failed int, err error) {
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		return 0, err
	}
	h, err := cached(side, tiers, origin)
	if err != nil {
		return 0, err
	}
	server := httptest.NewServer(h)
	defer server.Close()
	results := map[string]any{}
	if err := node(ctx, suite, []string{"npm_config_id=", "npm_package_config_id=", "npm_config_base=" + server.URL}, &results, "cli.mjs"); err != nil {
		return 0, err
	}
	passed, all := map[string]int{}, map[string]int{}
	for id, kind := range kinds {
		all[kind]++
		if results[id] == true {
			passed[kind]++
		} else if kind == "required" && !isKnown(id) {
			failed++
			fmt.Printf("%s: %s fails: %v\n", side, id, results[id])
		}
	}
	for _, kind := range []string{"required", "optimal", "check"} {
		fmt.Printf("%s: %d of %d %s cases pass\n", side, passed[kind], all[kind], kind)
	}
	return failed, tiers.Close(ctx)
}

func isKnown(id string) bool {
	for _, ids := range known {
		if slices.Contains(ids, id) {
			return true
		}
	}
	return false
}

// cached returns a proxy to the origin, with a cache of Tiers alone in front of it or behind it.
func cached(side string, tiers *cache.Tiers, origin *url.URL) (http.Handler, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableCompression = true
	proxy := &httputil.ReverseProxy{Transport: base, ErrorLog: log.New(os.Stderr, side+": ", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(origin)
		r.Out.Host = r.In.Host
	}}
	if side == "handler" {
		c, err := httpcache.New(httpcache.Config{Tiers: tiers})
		if err != nil {
			return nil, err
		}
		return c.Handler(proxy), nil
	}
	t, err := httpcache.NewTransport(httpcache.TransportConfig{Tiers: tiers, Base: base, Shared: true})
	proxy.Transport = t
	return proxy, err
}

// serveOrigin starts the suite's server on a free port.
func serveOrigin(ctx context.Context, suite string) (at *url.URL, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	at = &url.URL{Scheme: "http", Host: l.Addr().String()}
	if err := l.Close(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "node", "--no-warnings", "server/server.mjs")
	cmd.Dir = suite
	cmd.Env = append(os.Environ(), "npm_config_protocol=http", "npm_config_pidfile=server.pid", "npm_config_port="+at.Port())
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, nil, err
	}
	end = func() { cancel(); _ = cmd.Wait() }
	for range 100 {
		c, err := net.Dial("tcp", at.Host)
		if err == nil {
			return at, end, c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	end()
	return nil, nil, fmt.Errorf("the server of the suite does not listen on %s", at.Host)
}

// node runs Node.js in the folder of the suite, and decodes what it prints.
func node(ctx context.Context, suite string, env []string, to any, args ...string) error {
	cmd := exec.CommandContext(ctx, "node", slices.Concat([]string{"--no-warnings"}, args)...)
	cmd.Dir, cmd.Env, cmd.Stderr = suite, append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("node %s: %w", args[0], err)
	}
	return json.Unmarshal(out, to)
}
