//go:build race

package resident

import (
	"reflect"
	"testing"
)

type link struct {
	Name   string
	Bytes  []byte
	Tags   map[string]int
	Next   *link
	secret int
}

// Each change that encoding/json would show changes the checksum. The order of a map does not.
func TestChecksum(t *testing.T) {
	t.Parallel()
	fresh := func() *link {
		return &link{Name: "a", Bytes: []byte("bytes"), Tags: map[string]int{"x": 1, "y": 2}, Next: &link{Name: "b"}}
	}
	of := func(n *link) uint32 {
		crc, ok := checksumOf(reflect.ValueOf(n).Elem())
		if !ok {
			t.Fatalf("%+v has no checksum", n)
		}
		return crc
	}
	want := of(fresh())
	for name, c := range map[string]struct {
		change func(*link)
		same   bool
	}{
		"nothing":        {func(*link) {}, true},
		"what is hidden": {func(n *link) { n.secret = 7 }, true},
		"a string":       {func(n *link) { n.Name = "b" }, false},
		"one bit":        {func(n *link) { n.Bytes[3] ^= 1 }, false},
		"a map":          {func(n *link) { n.Tags["x"] = 2 }, false},
		"behind":         {func(n *link) { n.Next.Name = "" }, false},
		"nil":            {func(n *link) { n.Next = nil }, false},
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
	loop := &link{}
	loop.Next = loop
	for name, v := range map[string]any{"a function": func() {}, "a channel": make(chan int), "a loop": loop} {
		if _, ok := checksumOf(reflect.ValueOf(v)); ok {
			t.Errorf("%s has a checksum", name)
		}
	}
}
