package doctest_test

import (
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/repo/doctest"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

// root is the root of the repository.
const root = "../../.."

// markdown returns the text of each Markdown file of the repository by its path.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name()[0] == '_'): // tests of other packages make and remove some
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".md"):
			b, err := os.ReadFile(filepath.Join(root, path))
			texts[path] = string(b)
			return err
		}
		return nil
	})
	if err != nil || texts["README.md"] == "" {
		t.Fatalf("%d Markdown files, and %v", len(texts), err)
	}
	return texts
}

func kit(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/kit.go")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every snippet compiles and behaves as its text says.
func TestSnippets(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		t.Skip("the snippets use modules of the workspace")
	}
	var blocks []doctest.Block
	texts := markdown(t)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		blocks = append(blocks, doctest.Blocks(file, texts[file])...)
	}
	if len(blocks) < 30 {
		t.Fatalf("%d snippets, want those of the README and of eight guides", len(blocks))
	}
	server := redistest.Start(t, redistest.Args("--save", ""))
	out, err := doctest.Run(t.Context(), t.TempDir(), root, kit(t), blocks, "DOCTEST_REDIS="+server.Addr())
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A snippet that does not compile, prints another output or ends with an error is detected.
func TestControls(t *testing.T) {
	t.Parallel()
	const plain = "package kit\n\nvar redisAddr string\n"
	for _, tt := range []struct{ name, kit, md, want string }{
		{"a program that does not compile", plain, "text\n```go\npackage main\n\nfunc main() { x := 1 }\n```\n", "control.md:5:15: declared and not used: x"},
		{"declarations that do not compile", plain, "```go\nvar x int = \"a\"\n```\n```go\nfunc TestX(*testing.T) {}\n```\n", "control.md:2:13: cannot use"},
		{"no Go", plain, "  ```go skip\nif {\n```\n", "control.md:2 is no Go"},
		{"another output", plain, "```go\npackage main\n\nfunc main() { print() }\n\n// Output:\n// 1\n```\n", "--- FAIL: Test/control.md:2_Main"},
		{"a test that fails", plain, "```go\nfunc TestX(t *testing.T) { t.Error(\"so it is\") }\n```\n", "so it is"},
		{"an error that stays", small, "```go\nerr := errors.New(\"left over\")\n```\n", "left over"},
		{"statements that do not compile", small, "```go\nx := 1 + \"a\"\n```\n", "control.md:2:6: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := doctest.Run(t.Context(), t.TempDir(), root, tt.kit, doctest.Blocks("control.md", tt.md))
			if err == nil {
				t.Fatalf("it passes:\n%s", out)
			}
			if said := err.Error() + "\n" + out; !strings.Contains(said, tt.want) {
				t.Errorf("it says %s\nwant %s", said, tt.want)
			}
		})
	}
}

// small is a kit that provides nothing: a control needs no packages.
const small = `package kit

import "testing"

type env struct{ t *testing.T }

func newEnv(t *testing.T) *env { return &env{t} }

func (e *env) end(left ...any) {
	for _, x := range left {
		if err, ok := x.(error); ok {
			e.t.Error(err)
		}
	}
}
`

// Snippets are formatted as by gofmt.
func TestSnippetsAreFormatted(t *testing.T) {
	for file, text := range markdown(t) {
		for _, b := range doctest.Blocks(file, text) {
			want, err := format.Source([]byte(b.Code))
			if diff := cmp.Diff(string(want), b.Code); err != nil || diff != "" {
				t.Errorf("%v is not formatted (-gofmt +snippet), %v:\n%s", b, err, diff)
			}
		}
	}
}
