package doctest_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/repo/doctest"
	"github.com/twofold-go/twofold/policy"
)

// guides are the files that must stay short.
var guides = []string{
	"README.md", "cache/README.md", "cache/GUARANTEES.md", "cache/GLOSSARY.md", "cache/OPERATIONS.md", "cache/MIGRATING.md", "cache/MODELS.md", "cache/COMPARISON.md", "key/README.md",
	"invalidate/README.md", "invalidate/WIRE.md", "tier/README.md", "policy/README.md", "cache/httpcache/README.md",
}

func TestGuidesAreShort(t *testing.T) {
	texts := markdown(t)
	for _, g := range guides {
		most := 200
		if g == "README.md" {
			most = 150
		}
		if n := strings.Count(texts[g], "\n"); n == 0 || n > most {
			t.Errorf("%s has %d lines, want 1 to %d", g, n, most)
		}
		if g != "README.md" && !strings.Contains(texts["README.md"], "]("+g+")") {
			t.Errorf("README.md does not link to %s", g)
		}
	}
	if !strings.Contains(texts["README.md"], "](cache/TUTORIAL.md)") {
		t.Error("README.md does not link to the tutorial")
	}
	program, _, _ := strings.Cut(doctest.Blocks("README.md", texts["README.md"])[0].Code, "\n\n// Output:")
	if n := strings.Count(program, "\n") + 1; n > 30 {
		t.Errorf("the program of the README has %d lines, want 30 at most", n)
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")
)

// Every relative link leads to a file, and to a heading in it.
func TestLinks(t *testing.T) {
	texts := markdown(t)
	for file, text := range texts {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			to = path.Join(path.Dir(file), to)
			if strings.HasPrefix(m[1], "#") {
				to = file
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if anchor != "" && strings.HasSuffix(to, ".md") && !anchors(texts[to])[anchor] {
				t.Errorf("%s links to %s: no heading gives that anchor", file, m[1])
			}
		}
	}
}

// anchors returns the anchors of a text's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			title = strings.ToLower(strings.TrimSpace(title))
			title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(title, "")
			found[strings.ReplaceAll(title, " ", "-")] = true
		}
	}
	return found
}

// rows returns the first cells of table rows, where such a cell is one name in backquotes: the
// names in order, and for each the rest of its row.
func rows(text string) (names []string, rest map[string]string) {
	rest = map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.*)$").FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
		rest[m[1]] = m[2]
	}
	return names, rest
}

// The operator's table lists exactly the instruments of the golden file, in the same order.
func TestOperationsHasEveryInstrument(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join(root, "cache/testdata/instruments.golden"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(golden)) {
		if strings.HasPrefix(line, "cache.") {
			want = append(want, strings.Fields(line)[0])
		}
	}
	_, table, _ := strings.Cut(markdown(t)["cache/OPERATIONS.md"], "## What each instrument means")
	table, _, _ = strings.Cut(table, "\n## ")
	got, _ := rows(table)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("the instruments in OPERATIONS.md (-golden +table):\n%s", diff)
	}
}

// The policy table lists each field with its default, in the order of the type.
func TestPolicyTable(t *testing.T) {
	got, rest := rows(markdown(t)["policy/README.md"])
	var want []string
	defaults := reflect.ValueOf(policy.Default())
	for f := range defaults.Type().Fields() {
		want = append(want, f.Name)
		cell, _, _ := strings.Cut(rest[f.Name], "|")
		if cell = strings.TrimSpace(cell); cell != spell(defaults.FieldByIndex(f.Index).Interface()) {
			t.Errorf("the default of %s is %v, and the table says %q", f.Name, defaults.FieldByIndex(f.Index), cell)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the fields in policy/README.md (-type +table):\n%s", diff)
	}
}

// spell formats a default as the table does.
func spell(v any) string {
	switch v := v.(type) {
	case time.Duration:
		if v == 0 {
			return "0"
		}
		b, _ := policy.Patch{TTL: &v}.MarshalJSON()
		return regexp.MustCompile(`"([0-9][^"]*)"`).FindStringSubmatch(string(b))[1]
	case int:
		if v == 1<<20 {
			return "1 MiB"
		}
	}
	return fmt.Sprint(v)
}

// The workflows call only targets that the Makefile has.
func TestWorkflowsCallTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"test", "lint", "fuzz", "stalecheck"} {
		text, err := os.ReadFile(filepath.Join(root, ".github", "workflows", name+".yml"))
		if err != nil {
			t.Fatal(err)
		}
		targets := regexp.MustCompile(`run: make ([a-z-]+)`).FindAllStringSubmatch(string(text), -1)
		for _, m := range targets {
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s.yml calls make %s, which the Makefile does not have", name, m[1])
			}
		}
		if len(targets) == 0 {
			t.Errorf("%s.yml calls no target of the Makefile", name)
		}
	}
}

// The operator's table covers exactly the alerts of the rules.
func TestOperationsHasEveryAlert(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(root, "examples/observability/twofold.rules.yml"))
	if err != nil {
		t.Skip("the examples are a module of their own: ", err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1) {
		want = append(want, m[1])
	}
	_, table, _ := strings.Cut(markdown(t)["cache/OPERATIONS.md"], "\n## Alerts")
	table, _, _ = strings.Cut(table, "\n## ")
	got, _ := rows(table)
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("the alerts in OPERATIONS.md (-rules +table):\n%s", diff)
	}
}
