package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// before lists calls that must come before others in any function that makes both. Only a few
// loads of memory lie between the two. No message and no hook can force a race there, so the
// test reads the source.
var before = []struct {
	first, then, why string
	every            bool // every call of first, not only the first one
}{
	{"lease.read", "quiet fences.tick unfenced checkframe find isconfirmed covers", "a fence stored in between, and the lease extended behind it, would be missed", false},
	{"follower.owes", "checkframe", "an invalidation that comes into the log in between leaves a fence that was not looked for", false},
	{"fences.capture", "far.get far.getmany far.look far.claimmany guard", "what is invalidated in between would be older than its mark", false},
	{"fences.tick", "fences.hold", "an Expire in between would count as seen", true},
}

func TestLeaseIsReadBeforeFences(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "../resident/*.go"} {
		some, err := filepath.Glob(pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(some), err)
		}
		files = append(files, some...)
	}
	found := map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				checkOrder(t, fset, f, found)
			}
		}
	}
	for _, rule := range before {
		if found[rule.first] == 0 {
			t.Errorf("no function calls %s and one of %s: was it renamed?", rule.first, rule.then)
		}
	}
}

// checkOrder checks that the first call of rule.first, or every such call, precedes the calls of
// rule.then.
func checkOrder(t *testing.T, fset *token.FileSet, f *ast.FuncDecl, found map[string]int) {
	calls := callsOf(f.Body)
	for _, rule := range before {
		firsts := calls[rule.first]
		if len(firsts) == 0 {
			continue
		}
		latest := firsts[0]
		if rule.every {
			latest = firsts[len(firsts)-1]
		}
		for name := range strings.FieldsSeq(rule.then) {
			for _, at := range calls[name] {
				found[rule.first]++
				if at < latest {
					t.Errorf("%s: %s calls %s before %s: %s", fset.Position(at), f.Name.Name, name, rule.first, rule.why)
				}
			}
		}
	}
}

// callsOf returns the positions of calls, by the last name and by the last two names of the
// called function, in lower case.
func callsOf(body ast.Node) map[string][]token.Pos {
	calls := map[string][]token.Pos{}
	add := func(name string, at token.Pos) {
		name = strings.ToLower(name)
		calls[name] = append(calls[name], at)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := c.Fun.(type) {
		case *ast.Ident:
			add(f.Name, c.Pos())
		case *ast.SelectorExpr:
			add(f.Sel.Name, c.Pos())
			switch x := f.X.(type) {
			case *ast.Ident:
				add(x.Name+"."+f.Sel.Name, c.Pos())
			case *ast.SelectorExpr:
				add(x.Sel.Name+"."+f.Sel.Name, c.Pos())
			}
		}
		return true
	})
	return calls
}
