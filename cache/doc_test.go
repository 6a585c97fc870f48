package cache_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
)

// TestGuaranteesNameTests checks that every test that GUARANTEES.md names exists.
func TestGuaranteesNameTests(t *testing.T) {
	doc, err := os.ReadFile("GUARANTEES.md")
	must(t, err)
	named := regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(named) < 9 {
		t.Fatalf("GUARANTEES.md names %d tests, want one for each guarantee", len(named))
	}
	var tests strings.Builder
	for _, dir := range []string{".", "../tier", "../tier/local", "../invalidate", "../invalidate/redislog", "../internal/follow", "../internal/dbtest/sqllogtest"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		must(t, err)
		for _, f := range files {
			b, err := os.ReadFile(f)
			must(t, err)
			tests.Write(b)
		}
	}
	for _, name := range named {
		if !strings.Contains(tests.String(), "\nfunc "+name+"(") {
			t.Errorf("GUARANTEES.md names %s, which does not exist", name)
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
	if seen < 30 {
		t.Errorf("the page has %d names, want 30 or more", seen)
	}
	for code, err := range map[string]error{"unavailable": cache.ErrUnavailable, "recursive": cache.ErrRecursive, "goexit": cache.ErrGoexit, "codec": codec.ErrValue} {
		if got := (&cache.Error{Err: err}).Code(); got != code || !strings.Contains(string(page), "`"+code+"`") {
			t.Errorf("the code of %v is %q, and the page has %q: %v", err, got, code, strings.Contains(string(page), code))
		}
	}
}
