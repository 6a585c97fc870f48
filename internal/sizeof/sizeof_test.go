package sizeof_test

import (
	"reflect"
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

type nest []nest

type hidden struct {
	a any
	s []string
}

func of[V any](v V) int64 { return sizeof.Of(reflect.TypeFor[V]())(&v) }

func str(n int) string { return strings.Repeat("x", n) }

func TestOf(t *testing.T) {
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
		{"int", of(1), 8},
		{"fixed struct", of(point{}), 24},
		{"empty struct", of(struct{}{}), 0},
		{"array", of([4]int32{}), 16},
		{"empty string", of(""), 16},
		{"string", of(str(100)), 16 + 100},
		{"strings by their headers", of([]string{str(16), str(32)}), 24 + 32},
		{"array of strings", of([2]string{str(16), str(32)}), 32 + 16 + 32},
		{"bytes by capacity", of(make([]byte, 1, 64)), 24 + 64},
		{"nil slice", of([]string(nil)), 24},
		{"nil map", of(map[string]int(nil)), 8},
		{"map", of(map[string]int{"a": 1, "b": 2}), 8 + 2*24},
		{"pointer", of(&seven), 8 + 8},
		{"nil pointer", of((*user)(nil)), 8},
		{"pointer to strings", of(&user{Name: str(16), Email: str(48)}), 8 + 64 + 16 + 48},
		{"pointer to pointer", of(new(&seven)), 8 + 8},
		{"time", of(time.Now()), 24},
		{"chan", of(make(chan [100]int, 10)), 8},
		{"func", of(func() {}), 8},
		{"nil interface", of[any](nil), 16},
		{"string in an interface", of[any](str(16)), 16 + 16 + 16},
		{"pointer in an interface", of[any](&point{}), 16 + 8},
		{"mutex", of(&sync.Mutex{}), 8 + 8},
		{"elements without size", of(make([]struct{}, 1000)), 24},
		{"struct with strings", of(user{Name: str(16), Email: str(48)}), 64 + 16 + 48},
		{"ring", of(ring), 8 + 48 + 16 + 8},
		{"slice in itself", of(self), 24 + 24},
		{"unexported fields", of(hidden{str(3000), make([]string, 3)}), 40 + 48},
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
		size := sizeof.Of(reflect.TypeOf(v).Elem())
		if n := testing.AllocsPerRun(100, func() { size(v) }); n != 0 {
			t.Errorf("%T: %v allocations, want 0", v, n)
		}
	}
}
