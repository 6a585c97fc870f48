//go:build race

package resident

import (
	"reflect"
	"testing"
)

type node struct {
	Name   string
	Bytes  []byte
	Tags   map[string]int
	Next   *node
	secret int
}

// Each change that encoding/json would show changes the checksum. The order of a map does not.
func TestChecksum(t *testing.T) {
	t.Parallel()
	fresh := func() *node {
		return &node{Name: "a", Bytes: []byte("bytes"), Tags: map[string]int{"x": 1, "y": 2}, Next: &node{Name: "b"}}
	}
	of := func(n *node) uint32 {
		crc, ok := checksumOf(reflect.ValueOf(n).Elem())
		if !ok {
			t.Fatalf("%+v has no checksum", n)
		}
		return crc
	}
	want := of(fresh())
	for name, c := range map[string]struct {
		change func(*node)
		same   bool
	}{
		"nothing":        {func(*node) {}, true},
		"what is hidden": {func(n *node) { n.secret = 7 }, true},
		"a string":       {func(n *node) { n.Name = "b" }, false},
		"one bit":        {func(n *node) { n.Bytes[3] ^= 1 }, false},
		"a map":          {func(n *node) { n.Tags["x"] = 2 }, false},
		"behind":         {func(n *node) { n.Next.Name = "" }, false},
		"nil":            {func(n *node) { n.Next = nil }, false},
	} {
		n := fresh()
		c.change(n)
		if got := of(n); (got == want) != c.same {
			t.Errorf("%s: the same checksum: %v, want %v", name, got == want, c.same)
		}
	}
}

// What encoding/json cannot encode has no checksum, and neither has an endless value.
func TestNoChecksum(t *testing.T) {
	t.Parallel()
	loop := &node{}
	loop.Next = loop
	for name, v := range map[string]any{"a function": func() {}, "a channel": make(chan int), "a loop": loop} {
		if _, ok := checksumOf(reflect.ValueOf(v)); ok {
			t.Errorf("%s has a checksum", name)
		}
	}
}
