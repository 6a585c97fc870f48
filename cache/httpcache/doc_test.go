package httpcache_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests of the rules that once differed run on both sides.
func TestRulesOfBothSides(t *testing.T) {
	table, err := os.ReadFile("sides_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(b)
	}
	named := regexp.MustCompile(`(?m)^//\t.*\b(Test\w+)$`).FindAllStringSubmatch(string(table), -1)
	for _, name := range named {
		_, body, _ := strings.Cut(tests.String(), "\nfunc "+name[1]+"(")
		body, _, _ = strings.Cut(body, "\n}\n")
		if !regexp.MustCompile(`\b((both|sides|on|watched|play)\(t, |run\(t\))`).MatchString(body) {
			t.Errorf("%s does not run on both sides", name[1])
		}
	}
	if len(named) != 20 {
		t.Errorf("the table has %d rules", len(named))
	}
}

// The tests that the documentation names exist.
func TestDocNamesTests(t *testing.T) {
	var doc []byte
	for _, f := range []string{"doc.go", "internal/rules/rules.go"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		doc = append(doc, b...)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("internal/rules/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, f := range append(files, more...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(b)
	}
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(doc), -1)
	for _, name := range named {
		if !strings.Contains(tests.String(), "\nfunc "+name+"(") {
			t.Errorf("%s does not exist", name)
		}
	}
	if len(named) < 11 {
		t.Errorf("the documentation names %d tests", len(named))
	}
}
