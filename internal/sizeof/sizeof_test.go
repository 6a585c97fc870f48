package sizeof_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/race"

	"github.com/twofold-go/twofold/internal/sizeof"
)

type point struct {
	X, Y int64
	On   bool
}

type user struct {
	ID    int64
	Name  string
	Email string
	Seen  time.Time
}

type node struct {
	Name string
	Next *node
	Kids []*node
}

// holder refers to itself through a struct by value and an array.
type holder struct{ In []inner }

type inner struct{ H [2]holder }

type nest []nest

type table map[string]table

type private struct {
	names map[string]string
	any   any
}

func of[V any](v V) int64 { return sizeof.For[V]()(&v) }

func str(n int) string { return strings.Repeat("x", n) }

func TestExact(t *testing.T) {
	seven := 7
	for _, tc := range []struct {
		name string
		got  int64
		want int64
	}{
		{"int", of(1), 8},
		{"fixed struct", of(point{}), 24},
		{"empty struct", of(struct{}{}), 0},
		{"array", of([4]int32{}), 16},
		{"empty string", of(""), 16},
		{"string", of(str(100)), 16 + 112},
		{"strings", of([]string{str(16), str(32)}), 24 + 32 + 16 + 32},
		{"array of strings", of([2]string{str(16), str(32)}), 32 + 16 + 32},
		{"bytes by capacity", of(make([]byte, 1, 64)), 24 + 64},
		{"nil slice", of([]string(nil)), 24},
		{"nil map", of(map[string]int(nil)), 8},
		{"empty map", of(map[string]int{}), 8 + 48},
		{"pointer", of(&seven), 8 + 8},
		{"nil pointer", of((*user)(nil)), 8},
		{"time counts by its own size", of(time.Now()), 24},
		{"chan is shallow", of(make(chan [100]int, 10)), 8},
		{"func is shallow", of(func() {}), 8},
		{"nil interface", of[any](nil), 16},
		{"boxed string", of[any](str(16)), 16 + 16 + 16},
		{"boxed pointer", of[any](&point{}), 16 + 24},
		{"mutex", of(&sync.Mutex{}), 8 + 8},
		{"zero-size elements", of(make([]struct{}, 1000)), 24},
		{"struct with strings", of(user{Name: str(16), Email: str(48)}), 64 + 16 + 48},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: size = %d, want %d", tc.name, tc.got, tc.want)
		}
	}
}

func TestNilPointerToValue(t *testing.T) {
	if got := sizeof.For[user]()(nil); got != 0 {
		t.Errorf("For[user]()(nil) = %d, want 0", got)
	}
	if got := sizeof.For[int]()(nil); got != 0 {
		t.Errorf("For[int]()(nil) = %d, want 0", got)
	}
}

func TestCycles(t *testing.T) {
	ring := &node{Name: str(16)}
	ring.Next = &node{Name: str(16), Next: ring}
	ring.Kids = []*node{ring, ring.Next}
	if got, want := of(ring), int64(8+48+48+16+16+16); got != want {
		t.Errorf("ring = %d, want %d", got, want)
	}
	self := nest{nil}
	self[0] = self
	if got, want := of(self), int64(24+24); got != want {
		t.Errorf("slice in itself = %d, want %d", got, want)
	}
	tab := table{}
	tab["self"] = tab
	if got, limit := of(tab), int64(1000); got > limit {
		t.Errorf("map in itself = %d, want at most %d", got, limit)
	}
	var boxed any
	boxed = &boxed
	if got, want := of(boxed), int64(16+16); got != want {
		t.Errorf("interface in itself = %d, want %d", got, want)
	}
}

// A type that refers to itself through a struct or an array by value must not count as fixed while
// its plan is being built.
func TestRecursiveByValue(t *testing.T) {
	leaf := holder{In: make([]inner, 10)}
	v := holder{In: []inner{{H: [2]holder{leaf, leaf}}}}
	if got, want := of(v), int64(24+48+480); got != want {
		t.Errorf("size = %d, want %d (the shared block once)", got, want)
	}
	if got, want := of(inner{H: [2]holder{leaf, {}}}), int64(48+480); got != want {
		t.Errorf("size = %d, want %d", got, want)
	}
}

func TestLongList(t *testing.T) {
	var head *node
	for range 5000 {
		head = &node{Name: str(16), Next: head}
	}
	if got, want := of(head), int64(8+5000*(48+16)); got != want {
		t.Errorf("list of 5000 = %d, want %d: depth bounds the stack, not the count", got, want)
	}
}

func TestUnexported(t *testing.T) {
	v := &private{names: map[string]string{str(16): str(2000)}, any: []string{str(3000)}}
	if got, limit := of(v), int64(5000); got < limit {
		t.Errorf("size = %d, want at least %d", got, limit)
	}
}

// Beyond the visit budget sizes are extrapolated, even if the branches are unequal and deep.
func TestSampled(t *testing.T) {
	const rows, cols, text = 3000, 50, 64
	grid := make([][]string, rows)
	dict := make(map[int]*user, rows*10)
	for i := range grid {
		grid[i] = make([]string, cols)
		for j := range grid[i] {
			grid[i][j] = str(text)
		}
	}
	for i := range rows * 10 {
		dict[i] = &user{Name: str(i % text), Email: str(text)}
	}
	within(t, "grid", of(grid), 24+rows*(24+cols*(16+text)), 0.05)
	within(t, "dict", of(dict), rows*10*(64+36+64)+65536*17, 0.10)

	both := struct {
		A [][]string
		B []string
	}{grid, make([]string, 20_000)}
	for i := range both.B {
		both.B[i] = str(512)
	}
	within(t, "the second branch", of(both), of(grid)+24+20_000*(16+512), 0.05)
}

func within(t *testing.T, name string, got, want int64, tolerance float64) {
	t.Helper()
	if d := float64(got-want) / float64(want); d < -tolerance || d > tolerance {
		t.Errorf("%s: size = %d, want %d ± %.0f%% (off by %+.0f%%)", name, got, want, tolerance*100, d*100)
	}
}

func TestConcurrent(t *testing.T) {
	v := map[string]any{"a": []any{"b", 1.5, map[string]any{"c": nil}}, "d": &user{Name: "e"}}
	size := sizeof.For[map[string]any]()
	want := size(&v)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := size(&v); got != want {
				t.Errorf("size = %d, want %d", got, want)
			}
			if got, want := of([]any{v}), want-8+24+16; got != want {
				t.Errorf("inside a slice: size = %d, want %d", got, want)
			}
		})
	}
	wg.Wait()
}

// TestAgainstHeap compares the estimate with the allocator's numbers.
func TestAgainstHeap(t *testing.T) {
	heap(t, "users", func(i int) *user {
		return &user{Name: fmt.Sprint("user number ", i), Email: fmt.Sprint(i, "@example.org")}
	})
	heap(t, "bytes", func(i int) []byte { return make([]byte, 100+i%900) })
	heap(t, "map of strings", func(i int) map[string]string {
		m := map[string]string{}
		for j := range 5 + i%60 {
			m[fmt.Sprint("the key ", j)] = fmt.Sprint("the value number ", j)
		}
		return m
	})
	heap(t, "map of large values", func(int) map[int][20]int64 {
		m := map[int][20]int64{}
		for j := range 40 {
			m[j] = [20]int64{}
		}
		return m
	})
	heap(t, "decoded JSON", func(i int) map[string]any {
		return map[string]any{
			"id": float64(i) + 0.5, "name": fmt.Sprint("name ", i, " of many"),
			"tags": []any{fmt.Sprint("the first tag ", i), fmt.Sprint("the second tag ", i)},
			"org":  map[string]any{"id": float64(i) + 0.25, "on": true},
		}
	})
	heap(t, "list", func(i int) *node {
		return &node{Name: fmt.Sprint("node ", i), Next: &node{Kids: []*node{{}, {}, {}}}}
	})
}

// heap makes many values of one shape. The sum of their estimates must be within 30 % of the growth
// of the heap.
func heap[V any](t *testing.T, name string, make1 func(i int) V) {
	t.Helper()
	const count = 5000
	size := sizeof.For[V]()
	values := make([]V, count)
	inPlace := of(values[0]) * count // allocated before the first measurement
	before := live()
	for i := range values {
		values[i] = make1(i)
	}
	grown := live() - before
	var sum int64
	for i := range values {
		sum += size(&values[i])
	}
	within(t, name, sum-inPlace, grown, 0.30)
}

func live() int64 {
	runtime.GC()
	runtime.GC() // the second one waits for the first one's sweep
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	p, u, grid := point{}, user{Name: "n", Email: "e"}, [][]string{{"a", "b"}, {"c"}}
	allocs(t, "fixed", sizeof.For[point](), &p)
	allocs(t, "strings", sizeof.For[user](), &u)
	allocs(t, "nested slices", sizeof.For[[][]string](), &grid)
}

func allocs[V any](t *testing.T, name string, size func(*V) int64, v *V) {
	t.Helper()
	if n := testing.AllocsPerRun(100, func() { size(v) }); n != 0 {
		t.Errorf("%s: %v allocations, want 0", name, n)
	}
}
