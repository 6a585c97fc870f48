package deptest_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/twofold-go/twofold"

// Modules that only tests may use. Test kits may import them; packages that programs import may
// not.
var testModules = []string{
	"github.com/alicebob/miniredis",
	"github.com/anishathalye/porcupine",
	"github.com/google/go-cmp",
	"go.opentelemetry.io/otel/sdk",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
}

// Dependencies that no package of the library may bring to a program: test helpers, databases, and
// anything that chooses where telemetry goes.
var neverShipped = append([]string{
	"testing",
	module + "/internal/testkit/fault",
	module + "/internal/dbtest",
	module + "/internal/testkit/localbench",
	module + "/internal/testkit/localtest",
	module + "/internal/testkit/memlog",
	module + "/internal/testkit/suitetest",
	module + "/internal/testkit/testserver",
	module + "/internal/testkit/redistest",
	module + "/internal/testkit/script",
	module + "/internal/testkit/fencetest",
	module + "/internal/testkit/race",
	module + "/tier/tiertest",
	module + "/invalidate/logtest",
	"go.opentelemetry.io/otel/exporters",
	"github.com/prometheus",
	"github.com/go-sql-driver",
	"github.com/jackc",
	"modernc.org",
	"github.com/mattn/go-sqlite3",
}, testModules...)

var (
	redis = []string{"github.com/redis/go-redis"}
	// Only these packages may use go-redis.
	adapters = inModule("tier/redistier", "invalidate/redislog", "internal/rediserr")
	// Packages made for tests.
	kits = inModule("cache/cachetest", "tier/tiertest", "invalidate/logtest", "internal/testkit/fault", "internal/testkit/localbench", "internal/testkit/localtest", "internal/testkit/memlog", "internal/testkit/redistest", "internal/testkit/script", "internal/testkit/suitetest", "internal/testkit/testserver", "internal/testkit/fencetest")
)

// rule says what one package may not depend on, directly or indirectly. A path includes everything
// below it.
type rule struct {
	pkg     string // below the module; each must exist
	stdOnly bool
	deny    []string
}

func rules() []rule {
	upward := inModule("tier", "invalidate", "cache")
	return []rule{
		{pkg: "key", deny: slices.Concat(upward, redis)},
		{pkg: "policy", stdOnly: true, deny: upward},
		{pkg: "codec", deny: slices.Concat(upward, redis)},
		{pkg: "tier", deny: slices.Concat(inModule("cache", "invalidate", "tier/local", "tier/ristretto", "tier/redistier"), redis)},
		{pkg: "tier/local", deny: slices.Concat(inModule("cache", "invalidate", "tier/ristretto"), redis, []string{"github.com/dgraph-io/ristretto/v2"})},
		{pkg: "tier/ristretto", deny: slices.Concat(inModule("cache", "invalidate", "tier/local"), redis)},
		{pkg: "tier/redistier", deny: inModule("cache", "invalidate")},
		{pkg: "tier/sqltier", deny: slices.Concat(inModule("cache", "invalidate", "tier/redistier"), redis)},
		{pkg: "invalidate", deny: slices.Concat(inModule("cache", "invalidate/redislog"), redis)},
		{pkg: "invalidate/sqllog", deny: slices.Concat(inModule("cache", "tier", "invalidate/redislog", "invalidate/sqllog/triggers"), redis)},
		{pkg: "invalidate/sqllog/triggers", deny: slices.Concat(inModule("cache", "tier", "invalidate/redislog"), redis)},
		{pkg: "invalidate/sqllog/internal/outbox", deny: inModule("cache", "tier", "invalidate/redislog", "invalidate/sqllog/triggers")},
		{pkg: "internal/sqltext", stdOnly: true, deny: upward},
		{pkg: "cache", deny: slices.Concat(inModule("cache/index", "cache/httpcache", "cache/cachez"), redis)},
		{pkg: "internal/engine", deny: slices.Concat(inModule("cache", "internal/audits"), redis)},
		{pkg: "internal/resident", deny: slices.Concat(inModule("cache", "internal/engine", "internal/audits"), redis)},
		{pkg: "internal/audits", deny: slices.Concat(inModule("cache"), redis)},
		{pkg: "internal/fault", deny: slices.Concat(inModule("cache", "internal/engine", "internal/resident", "internal/fence", "internal/follow", "internal/remote"), redis)},
		{pkg: "internal/fence", deny: slices.Concat(inModule("cache", "internal/engine", "internal/resident", "internal/follow", "tier"), redis)},
		{pkg: "internal/remote", deny: slices.Concat(inModule("cache", "internal/engine", "internal/resident", "internal/measure", "internal/fence"), redis)},
		{pkg: "internal/measure", deny: slices.Concat(inModule("cache", "internal/engine", "internal/resident", "internal/fence"), redis)},
		{pkg: "cache/index", deny: slices.Concat(inModule("cache/httpcache", "cache/cachez"), redis)},
		{pkg: "cache/cachez", deny: slices.Concat(inModule("tier/redistier", "tier/sqltier", "invalidate/redislog", "invalidate/sqllog"), redis)},
		{pkg: "cache/httpcache/internal/reason", stdOnly: true, deny: inModule("cache")},
		{pkg: "cache/httpcache/internal/coding", deny: inModule("cache")},
		{pkg: "cache/httpcache/internal/rules", deny: beside("reason")},
		{pkg: "cache/httpcache/internal/address", deny: beside("reason", "rules")},
		{pkg: "cache/httpcache/internal/page", deny: beside("reason", "coding", "rules", "address")},
		{pkg: "cache/httpcache/internal/record", deny: beside("reason", "coding", "rules", "address", "page")},
		{pkg: "cache/httpcache/internal/exchange", deny: redis},
		{pkg: "cache/httpcache", deny: slices.Concat(inModule("cache/index", "cache/cachez", "tier/redistier", "invalidate/redislog"), redis)},
	}
}

// beside returns the packages that one below httpcache may not use: the tiers and caches, and all packages beside
// it but those below it.
func beside(below ...string) []string {
	deny := inModule("tier", "invalidate", "internal", "policy", "codec")
	for _, p := range []string{"reason", "coding", "rules", "address", "page", "record", "exchange"} {
		if !slices.Contains(below, p) {
			deny = append(deny, inModule("cache/httpcache/internal/"+p)...)
		}
	}
	return deny
}

func TestDependenciesPointOneWay(t *testing.T) {
	packages := list(t)
	for _, r := range rules() {
		t.Run(r.pkg, func(t *testing.T) {
			p, ok := packages[module+"/"+r.pkg]
			if !ok {
				t.Fatalf("package %s does not exist, so its rule checks nothing", r.pkg)
			}
			for _, dep := range p.Deps {
				if under(dep, r.deny) {
					t.Errorf("%s depends on %s, which it must not", r.pkg, dep)
				}
				if r.stdOnly && !standard(dep) {
					t.Errorf("%s depends on %s, which is not in the standard library", r.pkg, dep)
				}
			}
		})
	}
}

// TestNothingShipsItsTests checks every package, including those without a rule.
func TestNothingShipsItsTests(t *testing.T) {
	for path, p := range list(t) {
		if p.Incomplete {
			t.Errorf("%s does not resolve, so its dependencies are not known", path)
		}
		if under(path, kits) {
			continue
		}
		for _, dep := range p.Deps {
			if under(dep, neverShipped) {
				t.Errorf("%s depends on %s, which only tests may use", path, dep)
			}
			if under(dep, redis) && !under(path, adapters) {
				t.Errorf("%s depends on %s, which only the Redis adapters may use", path, dep)
			}
		}
	}
}

// onTop are the packages on top of package cache. A program could have written each of them.
var onTop = inModule("cache/httpcache", "cache/index", "cache/cachez", "cache/cachetest")

// TestPackagesOnTopUsePublicNames checks that a package on top of package cache, and all that is below it, imports no
// internal package of the library. What it needs of the engine is public, so that others can use it, too. Tests may
// also use internal/testkit.
func TestPackagesOnTopUsePublicNames(t *testing.T) {
	packages := list(t)
	for _, top := range onTop {
		if _, ok := packages[top]; !ok {
			t.Errorf("package %s does not exist, so its rule checks nothing", top)
		}
		for path, p := range packages {
			if !under(path, []string{top}) {
				continue
			}
			for _, dep := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
				if under(dep, inModule("internal")) && (slices.Contains(p.Imports, dep) || !under(dep, inModule("internal/testkit"))) {
					t.Errorf("%s imports %s, which no program can: make public what it needs", path, dep)
				}
			}
		}
	}
}

// Direct requirements of the root module. Any other needs a reason, given where the design lists
// them.
var allowed = append([]string{
	"github.com/cespare/xxhash/v2",
	"github.com/dgraph-io/ristretto/v2",
	"github.com/dunglas/httpsfv",
	"github.com/fxamacker/cbor/v2",
	"github.com/golang/snappy",
	"github.com/gowebpki/jcs",
	"github.com/klauspost/compress",
	"github.com/redis/go-redis/v9",
	"go.opentelemetry.io/otel",
	"go.opentelemetry.io/otel/metric",
	"go.opentelemetry.io/otel/trace",
	"golang.org/x/sync",
}, "github.com/alicebob/miniredis/v2", "github.com/anishathalye/porcupine", "github.com/google/go-cmp",
	"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/sdk/metric", "go.uber.org/goleak", "pgregory.net/rapid")

func TestRequirements(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []struct{ Old struct{ Path string } }
		Tool    []struct{ Path string }
	}
	if err := json.Unmarshal(goCommand(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Require) == 0 {
		t.Fatal("go.mod requires nothing: it was not read")
	}
	for _, r := range mod.Require {
		if !r.Indirect && !slices.Contains(allowed, r.Path) {
			t.Errorf("go.mod requires %s, which is not on the list", r.Path)
		}
	}
	// A replacement does not reach the users of a module; tools would.
	if len(mod.Replace)+len(mod.Tool) > 0 {
		t.Errorf("go.mod has replacements %v and tools %v, want none", mod.Replace, mod.Tool)
	}
}

func TestUnder(t *testing.T) {
	for _, tc := range []struct {
		path string
		want bool
	}{
		{"a.org/b", true}, {"a.org/b/c", true}, {"a.org/bc", false}, {"testing", true},
		{"testing/synctest", true}, {"test", false},
	} {
		if got := under(tc.path, []string{"a.org/b", "testing"}); got != tc.want {
			t.Errorf("under(%q) = %t, want %t", tc.path, got, tc.want)
		}
	}
	for path, want := range map[string]bool{"net/http": true, "vendor/golang.org/x/net/idna": true, "golang.org/x/sync": false, module: false} {
		if got := standard(path); got != want {
			t.Errorf("standard(%q) = %t, want %t", path, got, want)
		}
	}
}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string // of tests in the package
	XTestImports []string // of tests outside it
	Deps         []string // direct and indirect, without those of tests
	Incomplete   bool     // the package or a dependency does not resolve
}

// list returns the packages of the root module, as reported by the go command. It ignores the
// workspace, so that the result is what a user of the module gets.
func list(t *testing.T) map[string]pkg {
	t.Helper()
	watch(t)
	dec := json.NewDecoder(strings.NewReader(string(goCommand(t, "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps,Incomplete", "./..."))))
	all := map[string]pkg{}
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// watch looks at the files that the go command reads. A test result is kept until a file changes that the
// test itself has looked at.
func watch(t *testing.T) {
	t.Helper()
	files := string(goCommand(t, "list", "-f", `{{.Module.GoMod}}{{"\n"}}{{.Dir}}{{range .GoFiles}}{{"\n"}}{{$.Dir}}/{{.}}{{end}}{{range .TestGoFiles}}{{"\n"}}{{$.Dir}}/{{.}}{{end}}{{range .XTestGoFiles}}{{"\n"}}{{$.Dir}}/{{.}}{{end}}`, "./..."))
	for file := range strings.Lines(files) {
		file = strings.TrimSpace(file)
		if filepath.Base(file) == "deptest" {
			continue // programs come and go there
		}
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
	}
}

func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../../.."
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			stderr = exit.Stderr
		}
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return out
}

func inModule(paths ...string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = module + "/" + p
	}
	return out
}

// under reports whether path is an element of list or below one.
func under(path string, list []string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return path == l || strings.HasPrefix(path, l+"/") })
}

// standard reports whether path is in the standard library, whose paths have no dot in their first
// element.
func standard(path string) bool {
	if strings.HasPrefix(path, "vendor/") {
		return true
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
