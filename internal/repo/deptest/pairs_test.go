package deptest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program pays for its first cache once. These limits are for each further pair of a key type and
// a value type, as the linker keeps it.
var perPair = []struct {
	name             string
	calls            string // of cache c with key k and value v
	functions, bytes int
}{
	{"New and Get", `c.Get(ctx, k)`, 60, 55 << 10},
	{"with GetMany, GetOrLoad and Set", `c.Get(ctx, k)
	c.GetMany(ctx, []K%[1]d{k})
	c.GetOrLoad(ctx, k, func(context.Context, K%[1]d) (V%[1]d, error) { return V%[1]d{}, nil })
	c.Set(ctx, k, V%[1]d{})`, 70, 75 << 10},
}

// TestFurtherPairsAreSmall builds programs of 1 and of 11 pairs. Nothing in it is timed.
func TestFurtherPairsAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds four programs")
	}
	for _, tc := range perPair {
		t.Run(tc.name, func(t *testing.T) {
			one, oneBytes := program(t, 1, tc.calls)
			eleven, elevenBytes := program(t, 11, tc.calls)
			functions, size := (eleven-one)/10, (elevenBytes-oneBytes)/10
			t.Logf("a further pair: %d functions, %.1f KB", functions, float64(size)/(1<<10))
			if functions > tc.functions || size > tc.bytes {
				t.Errorf("a further pair takes %d functions and %d bytes, want at most %d and %d",
					functions, size, tc.functions, tc.bytes)
			}
			if functions < 10 || size < 5<<10 {
				t.Errorf("a further pair takes only %d functions and %d bytes: the linker drops what the test counts", functions, size)
			}
		})
	}
}

// program builds a program with caches of some pairs, and returns the number of its functions and
// its size.
func program(t *testing.T, pairs int, calls string) (functions, size int) {
	t.Helper()
	watch(t)
	var src strings.Builder
	src.WriteString("package main\n\nimport (\n\t\"context\"\n\n\t\"" + module + "/cache\"\n)\n\n")
	src.WriteString("func main() {\n\tt, _ := cache.Open(cache.TiersConfig{})\n")
	for i := range pairs {
		fmt.Fprintf(&src, "\tuse%d(context.Background(), t)\n", i)
	}
	src.WriteString("}\n")
	for i := range pairs {
		call := calls
		if strings.Contains(call, "%") {
			call = fmt.Sprintf(call, i)
		}
		fmt.Fprintf(&src, `
type K%[1]d struct{ A, F%[1]d int }

type V%[1]d struct{ B, F%[1]d string }

func use%[1]d(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K%[1]d, V%[1]d]{Namespace: "n%[1]d"})
	k := K%[1]d{}
	%[2]s
}
`, i, call)
	}
	dir, err := os.MkdirTemp(".", "_pairs") //nolint:usetesting // in the module, so that it needs no go.mod; "./..." skips the name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	main := filepath.Join(dir, "main.go")
	if err := os.WriteFile(main, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "program")
	path, err := filepath.Abs(main)
	if err != nil {
		t.Fatal(err)
	}
	goCommand(t, "build", "-o", out, path)
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(bytes.NewReader(goCommand(t, "tool", "nm", out))); s.Scan(); {
		if f := strings.Fields(s.Text()); len(f) > 2 && strings.EqualFold(f[1], "t") {
			functions++
		}
	}
	return functions, int(info.Size())
}
