package api_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const root = "../../.."

// pkg is the exported names of a package.
type pkg struct {
	dir   string
	names []name
}

// name is one exported name: of the package, or of one of its types.
type name struct {
	line string // in the listing
	recv string // the type that the field or method belongs to; "" at the top level
	id   string
	kind string // const, var, func, type, field, method
	doc  bool
	pos  token.Position
}

// top counts the names at the top level.
func (p pkg) top() (n int) {
	for _, x := range p.names {
		if x.recv == "" {
			n++
		}
	}
	return n
}

// listing returns the text of the file that belongs to p.
func (p pkg) listing() string {
	lines := make([]string, 0, len(p.names))
	for _, n := range p.names {
		lines = append(lines, n.line)
	}
	slices.Sort(lines)
	head := fmt.Sprintf("package %s: %d names at the top level\n\n", p.dir, p.top())
	return head + strings.Join(lines, "\n") + "\n"
}

// read lists the exported names of the files in a directory that an ordinary build compiles. It
// reads only the syntax, so it needs neither the network nor a compiled package.
func read(t *testing.T, dir string) pkg {
	t.Helper()
	p := pkg{dir: dir}
	fset := token.NewFileSet()
	for _, path := range goFiles(t, filepath.Join(root, dir)) {
		if ok, err := build.Default.MatchFile(filepath.Split(path)); err != nil || !ok || strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				p.function(fset, d)
			case *ast.GenDecl:
				p.general(fset, d)
			}
		}
	}
	if len(p.names) == 0 {
		t.Fatalf("package %s exports nothing, so its listing would be empty", dir)
	}
	return p
}

func goFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (p *pkg) add(fset *token.FileSet, at ast.Node, n name) {
	n.pos = fset.Position(at.Pos())
	n.line = strings.TrimSpace(n.line)
	p.names = append(p.names, n)
}

func (p *pkg) function(fset *token.FileSet, d *ast.FuncDecl) {
	n := name{id: d.Name.Name, kind: "func", doc: d.Doc != nil}
	if d.Recv != nil {
		n.recv, n.kind = typeName(d.Recv.List[0].Type), "method"
	}
	if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(n.recv) {
		return
	}
	n.line = "func " + signature(fset, n.id, d.Type)
	if d.Recv != nil {
		n.line = "method (" + source(fset, d.Recv.List[0].Type) + ") " + signature(fset, n.id, d.Type)
	}
	p.add(fset, d, n)
}

func (p *pkg) general(fset *token.FileSet, d *ast.GenDecl) {
	var last ast.ValueSpec // a constant without a value repeats it
	for ordinal, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				p.typ(fset, s, d.Doc.Text()+s.Doc.Text())
			}
		case *ast.ValueSpec:
			if s.Type != nil || len(s.Values) > 0 {
				last = *s
			}
			for i, id := range s.Names {
				if id.IsExported() {
					line := d.Tok.String() + " " + id.Name + value(fset, d.Tok, &last, i, ordinal)
					described := d.Doc != nil || s.Doc != nil || s.Comment != nil
					p.add(fset, id, name{line: line, id: id.Name, kind: d.Tok.String(), doc: described})
				}
			}
		}
	}
}

// value returns the declared type of a name, and the value of a constant.
func value(fset *token.FileSet, tok token.Token, s *ast.ValueSpec, i, ordinal int) (text string) {
	if s.Type != nil {
		text = " " + source(fset, s.Type)
	}
	if tok == token.CONST && i < len(s.Values) {
		text += " = " + source(fset, s.Values[i])
	}
	if strings.Contains(text, "iota") {
		text += fmt.Sprintf(" // iota = %d", ordinal)
	}
	return text
}

func (p *pkg) typ(fset *token.FileSet, s *ast.TypeSpec, doc string) {
	n := name{id: s.Name.Name, kind: "type", doc: doc != ""}
	words := strings.FieldsFunc(doc, func(r rune) bool { return !unicode.IsLetter(r) })
	head := "type " + s.Name.Name
	if s.TypeParams != nil {
		head += parameters(fset, s.TypeParams)
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		n.line = head + " struct"
		p.members(fset, s.Name.Name, "field", t.Fields, words)
	case *ast.InterfaceType:
		n.line = head + " interface"
		p.members(fset, s.Name.Name, "method", t.Methods, words)
	default:
		n.line = head + " " + source(fset, t)
		if s.Assign.IsValid() {
			n.line = head + " = " + source(fset, t)
		}
	}
	p.add(fset, s, n)
}

// members lists the fields of a struct or the methods of an interface. A comment covers the members
// on the lines that follow it, up to the next empty line. The comment of the type covers the
// members that it names. An embedded field is described at its own type.
func (p *pkg) members(fset *token.FileSet, recv, kind string, fields *ast.FieldList, words []string) {
	end, covered := -1, false
	for _, f := range fields.List {
		if fset.Position(f.Pos()).Line != end+1 {
			covered = false
		}
		end, covered = fset.Position(f.End()).Line, covered || f.Doc != nil || f.Comment != nil
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{{Name: typeName(f.Type), NamePos: f.Pos()}}
		}
		for _, id := range names {
			if !id.IsExported() {
				continue
			}
			n := name{line: "field " + recv + "." + id.Name + " " + source(fset, f.Type), recv: recv, id: id.Name, kind: kind}
			switch {
			case len(f.Names) == 0:
				n.line, n.kind = "embeds "+recv+": "+source(fset, f.Type), "field"
			case kind == "method":
				n.line = "method (" + recv + ") " + signature(fset, id.Name, f.Type)
			}
			n.doc = covered || len(f.Names) == 0 || slices.Contains(words, id.Name)
			p.add(fset, id, n)
		}
	}
}

func signature(fset *token.FileSet, id string, t ast.Expr) string {
	return id + strings.TrimPrefix(source(fset, t), "func")
}

// typeName returns the name of a type, of a pointer to one, or of one with arguments.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func parameters(fset *token.FileSet, list *ast.FieldList) string {
	f := &ast.FuncDecl{Name: ast.NewIdent("f"), Type: &ast.FuncType{TypeParams: list, Params: &ast.FieldList{}}}
	return strings.TrimSuffix(strings.TrimPrefix(source(fset, f), "func f"), "()")
}

// source returns a node as one line.
func source(fset *token.FileSet, node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// packages returns the directories of the root module that other modules can import.
func packages(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if path != root && (leftOut(d.Name()) || exists(filepath.Join(path, "go.mod"))) {
			return filepath.SkipDir
		}
		dir, err := filepath.Rel(root, path)
		if slices.ContainsFunc(goFiles(t, path), func(f string) bool { return !strings.HasSuffix(f, "_test.go") }) {
			dirs = append(dirs, filepath.ToSlash(dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

func leftOut(dir string) bool {
	return dir == "internal" || dir == "testdata" || strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
