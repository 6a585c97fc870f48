package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// userFacing are the packages whose names a program uses.
var userFacing = []string{"cache", "cache/cachez", "cache/index", "codec", "invalidate", "key", "policy"}

// shown is the set of names that the examples mention.
type shown struct {
	members   map[string]bool // fields and methods, and the words of the examples' names
	qualified map[string]bool // pkg.Name
}

// Every exported name is used in an example or in the quickstart. A function, variable, constant or
// type is found by its package and name. A method, or a field of a configuration, is found only by its
// name. Error, Is, String and Unwrap need no example, because other packages call them.
func TestExamples(t *testing.T) {
	s := examples(t)
	for _, dir := range userFacing {
		for _, n := range read(t, dir).names {
			if n.kind == "field" && !strings.HasSuffix(n.recv, "Config") ||
				n.recv != "" && slices.Contains([]string{"Error", "Is", "String", "Unwrap"}, n.id) {
				continue
			}
			full := strings.ReplaceAll(path.Base(dir)+"."+n.recv+"."+n.id, "..", ".")
			_, excused := unshown[full]
			switch seen := s.has(path.Base(dir), n); {
			case !seen && !excused:
				t.Errorf("%v: %s is used in no example: write one, or add it to unshown with a reason", n.pos, full)
			case seen && excused:
				t.Errorf("%s is used in an example: remove it from unshown", full)
			}
		}
	}
}

func (s shown) has(pkg string, n name) bool {
	if n.recv != "" {
		return s.members[n.id]
	}
	return s.qualified[pkg+"."+n.id] || n.kind == "type" && s.members[n.id]
}

// examples reads the quickstart, and all files of the root module with examples.
func examples(t *testing.T) shown {
	t.Helper()
	s := shown{map[string]bool{}, map[string]bool{}}
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if file != root && (leftOut(d.Name()) || exists(filepath.Join(file, "go.mod"))) {
				return filepath.SkipDir
			}
		case strings.HasSuffix(file, "_test.go"):
			s.file(t, file, false)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range goFiles(t, filepath.Join(root, "examples", "quickstart")) {
		s.file(t, file, true)
	}
	return s
}

// file notes the names that a file mentions. In a test file only the examples count, unless the
// file contains nothing but examples.
func (s shown) file(t *testing.T, file string, program bool) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := program || strings.HasPrefix(filepath.Base(file), "example")
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		example := ok && strings.HasPrefix(fn.Name.Name, "Example")
		if example {
			for word := range strings.SplitSeq(strings.TrimPrefix(fn.Name.Name, "Example"), "_") {
				s.members[word] = true
			}
		}
		if example || whole {
			s.mention(d, imports(f))
		}
	}
}

// imports returns the names of the packages that a file imports.
func imports(f *ast.File) (names []string) {
	for _, i := range f.Imports {
		if i.Name != nil {
			names = append(names, i.Name.Name)
		}
		names = append(names, path.Base(strings.Trim(i.Path.Value, `"`)))
	}
	return names
}

func (s shown) mention(d ast.Node, imported []string) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(imported, x.Name) {
				s.qualified[x.Name+"."+n.Sel.Name] = true
			} else {
				s.members[n.Sel.Name] = true
			}
		case *ast.KeyValueExpr:
			if field, ok := n.Key.(*ast.Ident); ok {
				s.members[field.Name] = true
			}
		case *ast.FuncDecl:
			s.members[n.Name.Name] = true
		}
		return true
	})
}
