package doctest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	module = "github.com/twofold-go/twofold"
	folder = "internal/repo/doctest/snippets"
)

// imports are the packages that a snippet may use without its own import.
var imports = func() map[string]string {
	paths := []string{
		"context", "crypto/subtle", "database/sql", "embed", "encoding/json", "errors", "fmt", "io", "log", "log/slog", "net/http", "net/http/httptest",
		"net/http/httputil", "net/url", "os", "strconv", "strings", "sync", "sync/atomic", "testing", "testing/synctest", "time", "go.opentelemetry.io/otel/exporters/prometheus", "go.opentelemetry.io/otel/sdk/metric",
	}
	for _, p := range []string{
		"cache", "cache/cachetest", "cache/cachez", "cache/httpcache", "cache/index", "codec", "invalidate", "invalidate/logtest",
		"invalidate/redislog", "invalidate/sqllog", "invalidate/sqllog/triggers", "key", "policy", "tier", "tier/local", "tier/redistier", "tier/ristretto", "tier/sqltier", "tier/tiertest",
	} {
		paths = append(paths, module+"/"+p)
	}
	names := map[string]string{}
	for _, p := range paths {
		names[path.Base(p)] = p
	}
	names["redis"] = "github.com/redis/go-redis/v9"
	names["rediscache"] = "github.com/go-redis/cache/v9" // of internal/bench
	names["pgx"], names["pgxpool"] = "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool"
	return names
}()

// source is the Go files made from the snippets, by their path in the repository.
type source struct {
	root  string
	kit   string          // text of a file that is added to each package
	lent  map[string]bool // the names that the kit provides to statements
	files map[string]string
	runs  []run
}

// run is one function of the test binary.
type run struct {
	pkg, function string
	block         Block
	takesT        bool
}

// newSource makes the packages of all blocks.
func newSource(root, kit string, blocks []Block) (*source, error) {
	s := &source{root: root, kit: kit, lent: map[string]bool{}, files: map[string]string{}}
	f, err := parser.ParseFile(token.NewFileSet(), "kit.go", kit, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Type.Params.NumFields() == 0 && fn.Type.Results.NumFields() == 1 {
			s.lent[fn.Name.Name] = true
		}
	}
	for _, b := range blocks {
		if err := s.add(b); err != nil {
			return nil, err
		}
	}
	s.files[folder+"/snippets_test.go"] = s.main()
	return s, nil
}

// packageOf returns the package of a Markdown file.
func packageOf(file string) string {
	return "x_" + strings.ToLower(strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(strings.TrimSuffix(file, ".md")))
}

func (s *source) add(b Block) error {
	k, f, err := b.parse()
	if err != nil {
		return err
	}
	pkg := packageOf(b.File)
	name := fmt.Sprintf("Block%d", b.Line)
	var text bytes.Buffer
	switch k {
	case program:
		pkg += fmt.Sprintf("_%d", b.Line)
		code := strings.Replace(strings.Replace(b.code(), "package main", "package "+pkg, 1), "func main()", "func Main()", 1)
		text.WriteString(b.position(s.root) + code)
		s.runs = append(s.runs, run{pkg, "Main", b, false})
		s.put(pkg, "redis.go", "package "+pkg+"\n\nimport \"os\"\n\nvar redisAddr = os.Getenv(\"DOCTEST_REDIS\")\n")
	case declarations:
		s.head(&text, pkg, f, false)
		text.WriteString(b.position(s.root) + b.code())
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") && fn.Recv == nil {
				s.runs = append(s.runs, run{pkg, fn.Name.Name, b, true})
			}
		}
	case statements:
		s.head(&text, pkg, f, true)
		fmt.Fprintf(&text, "func %s(t *testing.T) {\n\tlender := newEnv(t)\n", name)
		for _, lent := range s.unresolved(f, func(n string) bool { return s.lent[n] }) {
			fmt.Fprintf(&text, "\t%s := lender.%s()\n", lent, lent)
		}
		names := defined(f)
		if _, prints := b.Output(); prints {
			names = append([]string{"nil"}, names...) // its output decides whether it succeeded
		}
		text.WriteString(b.position(s.root) + b.code())
		fmt.Fprintf(&text, "\n\tlender.end(%s)\n}\n", strings.Join(names, ", "))
		s.runs = append(s.runs, run{pkg, name, b, true})
	}
	s.put(pkg, strings.ToLower(name)+".go", text.String())
	if k != program {
		s.put(pkg, "kit.go", strings.Replace(s.kit, "package kit", "package "+pkg, 1))
	}
	return nil
}

func (s *source) put(pkg, file, text string) { s.files[folder+"/"+pkg+"/"+file] = text }

// head writes the package clause and the imports.
func (s *source) head(text *bytes.Buffer, pkg string, f *ast.File, function bool) {
	fmt.Fprintf(text, "package %s\n\nimport (\n", pkg)
	names := s.unresolved(f, func(n string) bool { return imports[n] != "" && !s.lent[n] })
	if function && !slices.Contains(names, "testing") {
		names = append(names, "testing")
	}
	for _, n := range names {
		fmt.Fprintf(text, "\t%s %q\n", n, imports[n])
	}
	text.WriteString(")\n\n")
}

// unresolved returns the names that a block uses and does not define, if want accepts them.
func (s *source) unresolved(f *ast.File, want func(string) bool) []string {
	found := map[string]bool{}
	for _, id := range f.Unresolved {
		if want(id.Name) {
			found[id.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// main returns the test that runs all snippets.
func (s *source) main() string {
	var text, body bytes.Buffer
	packages := map[string]bool{}
	for _, r := range s.runs {
		packages[r.pkg] = true
		call := r.pkg + "." + r.function
		if !r.takesT {
			call = "func(*testing.T) { " + call + "() }"
		}
		want, prints := r.block.Output()
		fmt.Fprintf(&body, "\trun(t, %q, %v, %q, %s)\n", r.block.String()+" "+r.function, prints, want, call)
	}
	text.WriteString("package snippets_test\n\nimport (\n\t\"io\"\n\t\"os\"\n\t\"strings\"\n\t\"testing\"\n\n")
	if len(s.lent) > 0 {
		text.WriteString("\t_ \"modernc.org/sqlite\"\n")
	}
	for _, p := range slices.Sorted(maps.Keys(packages)) {
		fmt.Fprintf(&text, "\t%q\n", path.Join(module, folder, p))
	}
	fmt.Fprintf(&text, ")\n\nfunc Test(t *testing.T) {\n%s}\n%s", body.Bytes(), runner)
	return text.String()
}

// runner runs one snippet and compares what it prints.
const runner = `
func run(t *testing.T, name string, prints bool, want string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		if !prints {
			f(t)
			return
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout := os.Stdout
		os.Stdout = w
		printed := make(chan string)
		go func() {
			b, _ := io.ReadAll(r)
			printed <- string(b)
		}()
		func() {
			defer func() { os.Stdout = stdout; w.Close() }()
			f(t)
		}()
		if got := strings.TrimSpace(<-printed); got != want {
			t.Errorf("it prints\n%s\nand says that it prints\n%s", got, want)
		}
	})
}
`
