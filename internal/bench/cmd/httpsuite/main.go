// Httpsuite runs the public suite of HTTP caches, http-cache-tests, against a handler and a shared
// client of package httpcache, each in front of the suite's own server. It exits with 1 if a required
// case fails that is not in known. Its argument is the folder of the suite; see make http-suite.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
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

func main() { setup.Main("httpsuite", "", nil, run) }

func run(ctx context.Context) error {
	if len(os.Args) != 2 {
		return errors.New("usage: httpsuite FOLDER, the folder of an unpacked http-cache-tests with its dependencies")
	}
	t := setup.New(ctx)
	defer t.Close()
	s := suite{T: t, folder: os.Args[1], kinds: map[string]string{}}
	failed := 0
	if err := setup.Try(func() {
		s.node(nil, &s.kinds, "--input-type=module", "-e", cases)
		s.serveOrigin()
		for _, side := range []string{"handler", "client"} {
			failed += s.check(side)
		}
	}); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d required cases", setup.ErrFound, failed)
	}
	return nil
}

// suite is the suite, with its server.
type suite struct {
	*setup.T

	folder string
	kinds  map[string]string // of the cases
	origin *url.URL
}

// check runs the suite against one side, and returns how many required cases fail that are not known.
func (s *suite) check(side string) (failed int) {
	tiers := setup.Must(cache.Open(cache.TiersConfig{}))
	s.Closing(func() error { return tiers.Close(context.Background()) })
	server := httptest.NewServer(s.cached(side, tiers))
	defer server.Close()
	results := map[string]any{}
	s.node([]string{"npm_config_id=", "npm_package_config_id=", "npm_config_base=" + server.URL}, &results, "cli.mjs")
	passed, all := map[string]int{}, map[string]int{}
	for id, kind := range s.kinds {
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
	return failed
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
func (s *suite) cached(side string, tiers *cache.Tiers) http.Handler {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DisableCompression = true
	proxy := &httputil.ReverseProxy{Transport: base, ErrorLog: log.New(os.Stderr, side+": ", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(s.origin)
		r.Out.Host = r.In.Host
	}}
	if side == "handler" {
		return setup.Must(httpcache.New(httpcache.Config{Tiers: tiers})).Handler(proxy)
	}
	proxy.Transport = setup.Must(httpcache.NewTransport(httpcache.TransportConfig{Tiers: tiers, Base: base, Shared: true}))
	return proxy
}

// serveOrigin starts the suite's server on a free port.
func (s *suite) serveOrigin() {
	s.origin = &url.URL{Scheme: "http", Host: proc.FreeAddr()}
	cmd := s.command([]string{"npm_config_protocol=http", "npm_config_pidfile=server.pid", "npm_config_port=" + s.origin.Port()}, "server/server.mjs")
	cmd.Stderr = nil
	proc.Serve(s.T, s.origin.Host, cmd)
}

// command returns a run of Node.js in the folder of the suite.
func (s *suite) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.Context(), "node", slices.Concat([]string{"--no-warnings"}, args)...)
	cmd.Dir, cmd.Env, cmd.Stderr = s.folder, append(os.Environ(), env...), os.Stderr
	return cmd
}

// node runs Node.js, and decodes what it prints.
func (s *suite) node(env []string, to any, args ...string) {
	out, err := s.command(env, args...).Output()
	if err != nil {
		s.Fatalf("node %s: %w", args[0], err)
	}
	setup.Check(json.Unmarshal(out, to))
}
