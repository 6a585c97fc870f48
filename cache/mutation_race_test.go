//go:build race

package cache_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
)

// With -race, a hit detects that a cached value was changed.
func TestMutationIsDetected(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, []int]{
		Load: func(context.Context, int) ([]int, error) { return []int{1, 2, 3}, nil },
	})
	get(t, c, 1)
	v := get(t, c, 1)
	v[0] = 99
	for name, read := range map[string]func(){
		"Get":   func() { _, _ = c.Get(t.Context(), 1) },
		"Fetch": func() { _, _ = c.Fetch(t.Context(), 1, nil) },
	} {
		if s, ok := panicOf(read).(string); !ok || !strings.Contains(s, "things") || !strings.Contains(s, "Clone") {
			t.Errorf("%s of a changed value panics with %q, want the namespace and a hint at Clone", name, s)
		}
	}
	v[0] = 1
	get(t, c, 1)
}

// node is an element of a linked list, which encoding/json walks by recursion.
type node struct {
	Next  *node
	Value int
}

// A value that is nested deeper than 10,000 levels is not checked. It could overflow the stack.
func TestMutationCheckIsBounded(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, *node]{
		Size: func(*node) int64 { return 1 },
		Load: func(_ context.Context, n int) (list *node, _ error) {
			for range n {
				list = &node{Next: list}
			}
			return list, nil
		},
	})
	for _, n := range []int{1000, 3_000_000} {
		get(t, c, n)
		get(t, c, n).Value = 1
		p, _ := panicOf(func() { _, _ = c.Get(t.Context(), n) }).(string)
		if checked := n == 1000; checked != strings.Contains(p, "was changed") {
			t.Errorf("Get of a changed list of %d nodes panics with %q, want a panic: %v", n, p, checked)
		}
	}
}

// A large value costs a hit one pass over its bytes, whatever byte is changed.
func TestMutationOfLargeValues(t *testing.T) {
	type page struct {
		Body  []byte
		Parts map[string]*[4]float64
		Text  string
		inner int
		Named json.RawMessage
		Any   any
	}
	_ = page{}.inner
	for name, change := range map[string]func(p *page){
		"first byte": func(p *page) { p.Body[0]++ },
		"a byte":     func(p *page) { p.Body[700_001]++ },
		"last byte":  func(p *page) { p.Body[len(p.Body)-1]++ },
		"shorter":    func(p *page) { p.Body = p.Body[:len(p.Body)-1] },
		"in a map":   func(p *page) { p.Parts["b"][3] = 1 },
		"map entry":  func(p *page) { delete(p.Parts, "a") },
		"text":       func(p *page) { p.Text += "." },
		"raw":        func(p *page) { p.Named[1] = '2' },
		"any":        func(p *page) { p.Any.([]any)[0] = 2.0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, *page]{
				Load: func(context.Context, int) (*page, error) {
					return &page{
						Body: make([]byte, 1_000_000), Parts: map[string]*[4]float64{"a": {}, "b": {}}, Text: "x",
						Named: json.RawMessage("[1]"), Any: []any{1.0, "s", nil},
					}, nil
				},
			})
			p := get(t, c, 1)
			p.inner++ // it has no JSON
			get(t, c, 1)
			change(p)
			if p, ok := panicOf(func() { _, _ = c.Get(t.Context(), 1) }).(string); !ok || !strings.Contains(p, "was changed") {
				t.Errorf("Get of a changed value panics with %q", p)
			}
		})
	}
}
