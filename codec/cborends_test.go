package codec_test

import (
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/twofold-go/twofold/codec"
)

type (
	quiet struct {
		Loop *quiet `json:"-"`
		loop *quiet
	}
	itself struct {
		*itself
		A int
	}
	Base   struct{ Up *shadow }
	shadow struct {
		*Base
		Mine string `json:"Up"`
	}
	Twin  struct{ Up *twins }
	Other struct{ Up *twins }
	twins struct {
		Twin
		Other
	}
	Tagged struct {
		Name string `cbor:"Up"`
	}
	tagWins struct {
		Twin
		Tagged
	}
	Deep   struct{ Twin }
	Deeper struct{ Twin }
	repeat struct {
		Deep
		Deeper
	}
	selfMade struct{ Loop *selfMade }
)

func (*selfMade) MarshalText() ([]byte, error) { return []byte("x"), nil }

// unwritten returns loops that the encoder never enters.
func unwritten() map[string]any {
	q := new(quiet)
	q.Loop, q.loop = q, q
	self := new(itself)
	self.itself = self
	hidden := &shadow{Base: new(Base)}
	hidden.Base.Up = hidden
	both := new(twins)
	both.Twin.Up, both.Other.Up = both, both
	made := new(selfMade)
	made.Loop = made
	return map[string]any{
		"left out": q, "embeds itself": self, "hidden": hidden, "ambiguous": both, "marshals itself": []any{made, *made},
		"tag wins": tagWins{Twin: Twin{both}}, "embedded nil": promoted{},
		"repeated": repeat{Deep{Twin{both}}, Deeper{Twin{both}}},
	}
}

// acyclic returns values without loops that share parts or are large.
func acyclic() map[string]any {
	leaf, part := links(3), []any{1, "x"}
	diamond := forest{}
	for range 10 {
		diamond = forest{diamond, diamond}
	}
	wide, pointers := make([]any, 1<<17), any("x")
	for i := range wide {
		wide[i] = leaf
	}
	for range 200 {
		pointers = new(pointers)
	}
	return map[string]any{
		"shared pointer": []*linked{leaf, leaf}, "shared slice": map[string]any{"a": part, "b": part}, "diamond": diamond,
		"wide": wide, "pointers": pointers, "nil": nil, "nil pointer": (*linked)(nil), "nil slice": forest(nil), "nil map": graph(nil),
		"empty map": graph{}, "shared key": byKey{leaf: 1}, "nil in any": []any{nil, (*linked)(nil)}, "array": [2]any{part, part},
	}
}

// A value without loops is written, with the bytes of the encoder.
func TestCBORWritesWhatEnds(t *testing.T) {
	bare, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range []map[string]any{unwritten(), acyclic()} {
		for name, v := range values {
			t.Run(name, func(t *testing.T) {
				got := mustMarshal(t, codec.CBOR, v)
				if name == "marshals itself" {
					return // the bare mode cannot write it as text
				}
				if want, err := bare.Marshal(v); err != nil || string(got) != string(want) {
					t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
				}
			})
		}
	}
}

// The walk does not allocate for each element. Pools that the race detector empties may cost a
// few allocations.
func TestCBORWalkDoesNotAllocate(t *testing.T) {
	slice, table := make([]any, 1000), make(map[int]any, 1000)
	for i := range slice {
		slice[i], table[i] = &linked{}, "x"
	}
	bare, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{"slice": slice, "map": table, "list": links(60), "flat": items(1 << 16)} {
		want := testing.AllocsPerRun(20, func() { _, _ = bare.Marshal(v) })
		if got := testing.AllocsPerRun(20, func() { _, _ = codec.CBOR.Marshal(v) }); got > want+8 {
			t.Errorf("%s: %v allocations, the encoder alone %v", name, got, want)
		}
	}
}
