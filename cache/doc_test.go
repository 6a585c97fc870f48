package cache_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// Every test that GUARANTEES.md names exists, and COMPARISON.md leads to the file of each test that it names.
func TestDocumentsNameTests(t *testing.T) {
	dirs := []string{".", "../tier", "../tier/local", "../invalidate", "../invalidate/redislog", "../internal/follow", "../internal/dbtest/sqllogtest"}
	for _, doc := range []struct {
		file, named string // a pattern of the name, and of the file if the document leads to it
		least       int
	}{
		{"GUARANTEES.md", `\b((?:Test|Fuzz)[A-Z]\w+)`, 9},
		{"COMPARISON.md", "(Test[A-Z]\\w+)`(?:\\]\\(([^)]+)\\))?", 35},
	} {
		text, err := os.ReadFile(doc.file)
		must(t, err)
		named := regexp.MustCompile(doc.named).FindAllStringSubmatch(string(text), -1)
		if len(named) < doc.least {
			t.Errorf("%s names %d tests, want %d or more", doc.file, len(named), doc.least)
		}
		for _, m := range named {
			var files []string
			if len(m) > 2 {
				files = m[2:]
			} else {
				for _, dir := range dirs {
					more, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
					must(t, err)
					files = append(files, more...)
				}
			}
			if !slices.ContainsFunc(files, func(f string) bool {
				b, err := os.ReadFile(f)
				return err == nil && strings.Contains(string(b), "\nfunc "+m[1]+"(")
			}) {
				t.Errorf("%s names %s, which does not exist in %q", doc.file, m[1], files)
			}
		}
	}
}

// Every name of this library that NAMES.md gives exists.
func TestNamesOfTheFirstDesign(t *testing.T) {
	page, err := os.ReadFile("NAMES.md")
	must(t, err)
	golden, err := os.ReadFile("testdata/instruments.golden")
	must(t, err)
	types := map[string]reflect.Type{
		"Policy": reflect.TypeFor[policy.Policy](), "Config": reflect.TypeFor[thingConfig](), "TiersConfig": reflect.TypeFor[cache.TiersConfig](),
		"Tiers": reflect.TypeFor[*cache.Tiers](), "Error": reflect.TypeFor[*cache.Error](),
	}
	seen := 0
	for _, name := range regexp.MustCompile(`\b(cache(\.[a-z]+)+|(Policy|Config|TiersConfig|Tiers)\.[A-Z]\w+)\b`).FindAllString(string(page), -1) {
		of, field, _ := strings.Cut(name, ".")
		seen++
		if of == "cache" {
			if field != "tenant" && field != "namespace" && !strings.Contains(string(golden), "\n"+name+" ") && !strings.HasPrefix(string(golden), name+" ") {
				t.Errorf("%s is no instrument", name)
			}
			continue
		}
		is := types[of]
		_, method := is.MethodByName(field)
		if is.Kind() == reflect.Struct {
			_, method = is.FieldByName(field)
		}
		if !method {
			t.Errorf("%s does not exist", name)
		}
	}
	if seen < 20 {
		t.Errorf("the page has %d names, want 20 or more", seen)
	}
	for code, err := range map[string]error{"unavailable": cache.ErrUnavailable, "recursive": cache.ErrRecursive, "goexit": cache.ErrGoexit, "codec": codec.ErrValue} {
		if got := (&cache.Error{Err: err}).Code(); got != code || !strings.Contains(string(page), "`"+code+"`") {
			t.Errorf("the code of %v is %q, and the page has %q: %v", err, got, code, strings.Contains(string(page), code))
		}
	}
}
