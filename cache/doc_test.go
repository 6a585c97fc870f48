package cache_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuaranteesNameTests checks that every test that doc.go names exists.
func TestGuaranteesNameTests(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(named) < 9 {
		t.Fatalf("doc.go names %d tests, want one for each guarantee", len(named))
	}
	var tests strings.Builder
	for _, dir := range []string{".", "../tier", "../tier/local", "../invalidate", "../invalidate/redislog", "../internal/follow", "../internal/dbtest/sqllogtest"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
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
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "\nfunc "+name+"(") {
			t.Errorf("doc.go names %s, which does not exist", name)
		}
	}
}
