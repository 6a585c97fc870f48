package httpcache_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// texts returns the text of the files that match the patterns.
func texts(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
	}
	return all.String()
}

// The tests of the rules that once differed run on both sides.
func TestRulesOfBothSides(t *testing.T) {
	tests := texts(t, "*_test.go")
	named := regexp.MustCompile(`(?m)^//\t.*\b(Test\w+)$`).FindAllStringSubmatch(texts(t, "sides_test.go"), -1)
	for _, name := range named {
		_, body, _ := strings.Cut(tests, "\nfunc "+name[1]+"(")
		body, _, _ = strings.Cut(body, "\n}\n")
		if !regexp.MustCompile(`\b((both|sides|on|watched|play)\(t, |run\(t\))`).MatchString(body) {
			t.Errorf("%s does not run on both sides", name[1])
		}
	}
	if len(named) != 24 {
		t.Errorf("the table has %d rules", len(named))
	}
}

// The tests that the documentation names exist.
func TestDocNamesTests(t *testing.T) {
	tests := texts(t, "*_test.go", "internal/rules/*_test.go")
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(texts(t, "doc.go", "internal/rules/rules.go"), -1)
	for _, name := range named {
		if !strings.Contains(tests, "\nfunc "+name+"(") {
			t.Errorf("%s does not exist", name)
		}
	}
	if len(named) < 11 {
		t.Errorf("the documentation names %d tests", len(named))
	}
}
