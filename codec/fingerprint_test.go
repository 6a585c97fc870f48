package codec_test

import (
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/codec"
)

type (
	account struct {
		ID   int64  `json:"id" cbor:"1,keyasint"`
		Name string `json:"name,omitempty"`
		At   time.Time
		priv int
		Skip string `json:"-"`
		Half string `json:"-" cbor:"half"`
	}
	renamed struct {
		ID    int64  `json:"id" cbor:"1,keyasint"`
		Name  string `json:"name,omitempty"`
		At    time.Time
		other string
		Half  string `json:"-" cbor:"half"`
	}
	list  struct{ Next *list }
	chain struct{ Next *chain }
	left  struct{ R []right }
	right struct{ L map[string]left }
	tree  []tree
	asRow struct {
		_ struct{} `cbor:",toarray"`
		A int
	}
	base    struct{ A int }
	alike   struct{ A int }
	derived struct {
		base
		*account
		Tagged base `json:"t"`
	}
	generic[T any] struct{ V T }
	id             int64
)

// The golden values never change: a new value empties the cache of every fleet.
func TestFingerprintGolden(t *testing.T) {
	const accountText = `{ID "id" "1,keyasint" int64;Name "name,omitempty" "" string;At "" "" m:time.Time;Half "-" "half" string;}`
	tests := []struct {
		name string
		t    reflect.Type
		text string
		want uint64
	}{
		{"nil", nil, "nil", 0xc969e5402c4421f3},
		{"int", reflect.TypeFor[int](), "int", 0x60f24396f77057c3},
		{"named int", reflect.TypeFor[id](), "int64", 0x52c045bbcff6dc58},
		{"bytes", reflect.TypeFor[[]byte](), "[]uint8", 0x87b3fc4f8dd0921a},
		{"any", reflect.TypeFor[any](), "interface", 0x2c4cfa7543356f13},
		{"map", reflect.TypeFor[map[string][2]*int](), "map[string][2]*int", 0x552ad2b364ee5bd},
		{"time", reflect.TypeFor[time.Time](), "m:time.Time", 0x2129868669de9eaf},
		{"pointer receiver", reflect.TypeFor[big.Int](), "m:math/big.Int", 0x753c6cf528a727f},
		{"netip", reflect.TypeFor[[]netip.Addr](), "[]m:net/netip.Addr", 0xde214ac65ec69c49},
		{"struct", reflect.TypeFor[account](), accountText, 0x2e78f7f3a6650dff},
		{"recursive", reflect.TypeFor[list](), `{Next "" "" *#0;}`, 0x55e79c0c35ac68d9},
		{"recursive slice", reflect.TypeFor[tree](), `[]#0`, 0xbaa0200ecfb35661},
		{"mutually recursive", reflect.TypeFor[left](), `{R "" "" []{L "" "" map[string]#0;};}`, 0xab66cde1ec2f7c08},
		{"toarray", reflect.TypeFor[asRow](), `{_ "" ",toarray" {};A "" "" int;}`, 0x2d9a004d568ac8f9},
		{"embedded", reflect.TypeFor[derived](), `{~ "" "" {A "" "" int;};~ "" "" *` + accountText + `;Tagged "t" "" #1;}`, 0xb525c7cae78f8251},
		{"generic", reflect.TypeFor[generic[id]](), `{V "" "" int64;}`, 0xaa80f59d127ddc41},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := codec.Fingerprint(tt.t); got != tt.want {
				t.Errorf("Fingerprint = %#x, want %#x", got, tt.want)
			}
			if got := xxhash.Sum64String(tt.text); got != tt.want {
				t.Errorf("the vector contradicts itself: %#x is the hash of the text", got)
			}
		})
	}
}

func TestFingerprintTellsApart(t *testing.T) {
	same := [][2]reflect.Type{
		{reflect.TypeFor[account](), reflect.TypeFor[renamed]()},
		{reflect.TypeFor[list](), reflect.TypeFor[chain]()},
		{reflect.TypeFor[struct{ base }](), reflect.TypeFor[struct{ alike }]()},
	}
	for _, p := range same {
		if codec.Fingerprint(p[0]) != codec.Fingerprint(p[1]) {
			t.Errorf("%v and %v differ", p[0], p[1])
		}
	}
	seen := make(map[uint64]reflect.Type)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct{}](),
		reflect.TypeFor[struct{ A int }](),
		reflect.TypeFor[struct{ A int32 }](),
		reflect.TypeFor[struct{ A *int }](),
		reflect.TypeFor[struct{ B int }](),
		reflect.TypeFor[struct{ A, B int }](),
		reflect.TypeFor[struct{ B, A int }](),
		reflect.TypeFor[struct {
			A int `json:"a"`
		}](),
		reflect.TypeFor[struct {
			A int `cbor:"a"`
		}](),
		reflect.TypeFor[struct {
			A int `json:"a,string"`
		}](),
		reflect.TypeFor[struct{ base }](),
		reflect.TypeFor[struct{ Base base }](),
		reflect.TypeFor[[]int](), reflect.TypeFor[[1]int](), reflect.TypeFor[[2]int](), reflect.TypeFor[map[int]int](),
		reflect.TypeFor[string](), reflect.TypeFor[[]byte](), reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration](),
		reflect.TypeFor[onlyText](), reflect.TypeFor[onlyJSON](),
	} {
		f := codec.Fingerprint(typ)
		if other, dup := seen[f]; dup {
			t.Errorf("%v and %v share a fingerprint", typ, other)
		}
		seen[f] = typ
	}
}

func BenchmarkFingerprint(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = codec.Fingerprint(reflect.TypeFor[record]())
	}
}
