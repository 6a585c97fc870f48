// Package doctest compiles and runs the Go snippets of the repository's Markdown files.
//
// A snippet is a block fenced as ```go. There are three kinds:
//
//   - A whole program begins with a package clause. It is compiled on its own, and its main runs.
//   - Declarations belong to their file. Test functions among them run.
//   - Statements are the body of a function. They may use the declarations of their file and
//     the names that testdata/kit.go explains, such as ctx, users and tiers. If a variable
//     still holds an error at the end of the block, the test fails.
//
// A program or a block of statements that ends with "// Output:" and comments must print the text
// of the comments. Declarations and statements need no imports: doctest adds them by package name.
// "localhost:6379" stands for a Redis server that the test starts.
//
// All snippets become packages below internal/repo/doctest/snippets, which exist only in an overlay of
// the go command. One test binary contains all of them.
package doctest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// Block is one snippet.
type Block struct {
	File string // path of the Markdown file, relative to the repository
	Line int    // of its first line of code
	Code string
}

// Blocks returns the snippets of one Markdown file.
func Blocks(file, text string) []Block {
	var blocks []Block
	var code *strings.Builder
	start := 0
	for i, line := range strings.Split(text, "\n") {
		switch {
		case code == nil && isGo(line):
			code, start = new(strings.Builder), i+2
		case code != nil && strings.HasPrefix(strings.TrimSpace(line), "```"):
			blocks = append(blocks, Block{File: file, Line: start, Code: code.String()})
			code = nil
		case code != nil:
			code.WriteString(line + "\n")
		}
	}
	return blocks
}

// isGo reports whether a line begins a block of Go. The rest of the line is ignored.
func isGo(line string) bool {
	language, fenced := strings.CutPrefix(strings.TrimSpace(line), "```")
	words := strings.Fields(language)
	return fenced && len(words) > 0 && (words[0] == "go" || words[0] == "golang")
}

// String returns the location of the block.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Output returns what the block must print, and whether the block states it.
func (b Block) Output() (string, bool) {
	_, comment, ok := strings.Cut(b.Code, "// Output:")
	var lines []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			break
		}
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "//")))
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), ok
}

// code returns the snippet with a variable in place of the Redis server's address.
func (b Block) code() string { return strings.ReplaceAll(b.Code, `"localhost:6379"`, "redisAddr") }

// position makes the compiler name the Markdown file in its errors.
func (b Block) position(root string) string {
	return fmt.Sprintf("//line %s/%s:%d:1\n", root, b.File, b.Line)
}

// kind says how a block is compiled.
type kind int

const (
	program kind = iota
	declarations
	statements
)

// parse returns the kind of a block and its syntax.
func (b Block) parse() (kind, *ast.File, error) {
	fset := token.NewFileSet()
	if f, err := parser.ParseFile(fset, b.String(), b.code(), 0); err == nil {
		return program, f, nil
	}
	if f, err := parser.ParseFile(fset, b.String(), "package p;"+b.code(), 0); err == nil {
		return declarations, f, nil
	}
	f, err := parser.ParseFile(fset, b.String(), "package p; func _() {"+b.code()+"\n}", 0)
	if err != nil {
		return 0, nil, fmt.Errorf("%v is no Go: %w", b, err)
	}
	return statements, f, nil
}

// defined returns the names that the statements of a block define at its top level.
func defined(f *ast.File) []string {
	var names []string
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
			names = append(names, id.Name)
		}
	}
	for _, s := range f.Decls[0].(*ast.FuncDecl).Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				for _, e := range s.Lhs {
					add(e)
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
}
