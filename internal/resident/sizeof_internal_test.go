package resident

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/race"
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

type nest []nest

type hidden struct {
	a any
	s []string
}

func sizeOfValue[V any](v V) int64 { return sizeOf(reflect.TypeFor[V]())(&v) }

func str(n int) string { return strings.Repeat("x", n) }

func TestSizeOf(t *testing.T) {
	seven := 7
	ring := &node{Name: str(16)}
	ring.Next, ring.Kids = ring, []*node{ring}
	self := nest{nil}
	self[0] = self
	for _, tc := range []struct {
		name string
		got  int64
		want int64
	}{
		{"int", sizeOfValue(1), 8},
		{"fixed struct", sizeOfValue(point{}), 24},
		{"empty struct", sizeOfValue(struct{}{}), 0},
		{"array", sizeOfValue([4]int32{}), 16},
		{"empty string", sizeOfValue(""), 16},
		{"string", sizeOfValue(str(100)), 16 + 100},
		{"strings by their headers", sizeOfValue([]string{str(16), str(32)}), 24 + 32},
		{"array of strings", sizeOfValue([2]string{str(16), str(32)}), 32 + 16 + 32},
		{"bytes by capacity", sizeOfValue(make([]byte, 1, 64)), 24 + 64},
		{"nil slice", sizeOfValue([]string(nil)), 24},
		{"nil map", sizeOfValue(map[string]int(nil)), 8},
		{"map", sizeOfValue(map[string]int{"a": 1, "b": 2}), 8 + 2*24},
		{"pointer", sizeOfValue(&seven), 8 + 8},
		{"nil pointer", sizeOfValue((*user)(nil)), 8},
		{"pointer to strings", sizeOfValue(&user{Name: str(16), Email: str(48)}), 8 + 64 + 16 + 48},
		{"pointer to pointer", sizeOfValue(new(&seven)), 8 + 8},
		{"time", sizeOfValue(time.Now()), 24},
		{"chan", sizeOfValue(make(chan [100]int, 10)), 8},
		{"func", sizeOfValue(func() {}), 8},
		{"nil interface", sizeOfValue[any](nil), 16},
		{"string in an interface", sizeOfValue[any](str(16)), 16 + 16 + 16},
		{"pointer in an interface", sizeOfValue[any](&point{}), 16 + 8},
		{"mutex", sizeOfValue(&sync.Mutex{}), 8 + 8},
		{"elements without size", sizeOfValue(make([]struct{}, 1000)), 24},
		{"struct with strings", sizeOfValue(user{Name: str(16), Email: str(48)}), 64 + 16 + 48},
		{"ring", sizeOfValue(ring), 8 + 48 + 16 + 8},
		{"slice in itself", sizeOfValue(self), 24 + 24},
		{"unexported fields", sizeOfValue(hidden{str(3000), make([]string, 3)}), 40 + 48},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: size = %d, want %d", tc.name, tc.got, tc.want)
		}
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	p, u, grid, table := point{}, &user{Name: "n", Email: "e"}, [][]string{{"a", "b"}, {"c"}}, map[string]any{"a": "b"}
	for _, v := range []any{&p, &u, &grid, &table} {
		size := sizeOf(reflect.TypeOf(v).Elem())
		if n := testing.AllocsPerRun(100, func() { size(v) }); n != 0 {
			t.Errorf("%T: %v allocations, want 0", v, n)
		}
	}
}
