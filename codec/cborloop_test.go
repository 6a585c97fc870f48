package codec_test

import (
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/codec"
)

type (
	linked  struct{ Next *linked }
	forest  []forest
	graph   map[string]graph
	byKey   map[*linked]int
	byStore struct{ M map[byStoreKey]int }

	byStoreKey struct{ To *byStore }
	inArray    struct{ Of [2]*inArray }
	asArray    struct {
		_  struct{} `cbor:",toarray"`
		To *asArray
	}
	walker interface{ Walk() }
	viaFn  struct{ To walker }

	promoted struct {
		*inner
		A int
	}
	inner     struct{ To *promoted }
	namedLoop struct {
		*Loose `json:"loose"`
	}
	Loose  struct{ To *namedLoop }
	either struct {
		Loop *either `cbor:"1"`
		Num  int     `cbor:"1,keyasint"`
	}
)

func (*viaFn) Walk() {}

// loops returns values of every kind that contain themselves.
func loops() map[string]any {
	ring := new(linked)
	ring.Next = &linked{Next: &linked{Next: ring}}
	anys := []any{1, nil}
	anys[1] = anys
	trees := forest{nil, nil}
	trees[1] = trees
	named, anyMap, store := graph{}, map[string]any{}, &byStore{M: map[byStoreKey]int{}}
	named["x"], anyMap["x"] = named, []any{&anyMap}
	store.M[byStoreKey{store}] = 1
	array, tuple, fn, hops := new(inArray), new(asArray), new(viaFn), any(nil)
	array.Of[1], tuple.To, fn.To, hops = array, tuple, fn, &hops
	return map[string]any{
		"pointer": ring, "struct": *ring, "slice of any": anys, "slice": trees, "map": named, "map of any": anyMap,
		"map key": byKey{ring: 1}, "map key struct": store, "array": array, "toarray": tuple, "interface": fn,
		"only pointers": hops, "tag": cbor.Tag{Number: 99, Content: ring}, "inside": map[string]any{"a": []any{1, "x", *ring}},
	}
}

// embeddedLoops returns loops through embedded fields, for which the encoder has its own rules.
func embeddedLoops() map[string]any {
	up := promoted{inner: new(inner)}
	up.To = &up
	out := &namedLoop{Loose: new(Loose)}
	out.To = out
	number := new(either)
	number.Loop = number
	return map[string]any{"promoted": up, "embedded by name": out, "number beside text": number}
}

func TestCBORRefusesLoops(t *testing.T) {
	for _, values := range []map[string]any{loops(), embeddedLoops()} {
		for name, v := range values {
			for _, c := range forms(codec.CBOR) {
				t.Run(c.ID()+"/"+name, func(t *testing.T) {
					_, err := c.Marshal(v)
					wantError(t, err, codec.ErrValue)
				})
			}
		}
	}
}

func links(levels int) *linked {
	var l *linked
	for range levels {
		l = &linked{Next: l}
	}
	return l
}

// The limit is exactly that of the decoder, and a long list does not recurse.
func TestCBORDepth(t *testing.T) {
	for _, levels := range []int{0, 1, 63, 64} {
		want := links(levels)
		var got *linked
		if err := codec.CBOR.Unmarshal(mustMarshal(t, codec.CBOR, want), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d levels (-want +got):\n%s", levels, diff)
		}
	}
	for _, levels := range []int{65, 127, 128, 129, 1 << 20} {
		_, err := codec.CBOR.Marshal(links(levels))
		wantError(t, err, codec.ErrValue)
	}
}
