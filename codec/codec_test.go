package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/codec"
)

var equal = cmp.Options{
	cmp.AllowUnexported(record{}, onlyJSON{}, onlyText{}, everyWay{}),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b *big.Int) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
}

func records() *rapid.Generator[record] {
	return rapid.Custom(func(t *rapid.T) record {
		r := record{
			ID: rapid.Int64().Draw(t, "id"), Big: rapid.Uint64().Draw(t, "big"),
			Name: rapid.String().Draw(t, "name"), Score: rapid.Float64().Draw(t, "score"), Small: rapid.Float32().Draw(t, "small"),
			Blob: rapid.SliceOf(rapid.Byte()).Draw(t, "blob"), Tags: rapid.SliceOf(rapid.String()).Draw(t, "tags"),
			Attrs: rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "attrs"),
			At:    time.Unix(rapid.Int64Range(-6e10, 2e11).Draw(t, "sec"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
			Addr:  netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "addr"))),
			Wait:  time.Duration(rapid.Int64().Draw(t, "wait")), On: rapid.Bool().Draw(t, "on"),
			Grid:   [2][2]int8{{rapid.Int8().Draw(t, "g")}},
			Amount: new(big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "amount")), uint(rapid.IntRange(0, 100).Draw(t, "shift"))),
		}
		if rapid.Bool().Draw(t, "child") {
			r.Parent = &record{ID: r.ID + 1, Tags: []string{}, Attrs: map[string]string{}, Blob: []byte{}}
		}
		return r
	})
}

func TestRoundTrip(t *testing.T) {
	for _, base := range []codec.Codec{codec.JSON, codec.CBOR} {
		for _, c := range forms(base) {
			t.Run(c.ID(), func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					want := records().Draw(t, "record")
					data, err := c.Marshal(&want)
					if err != nil {
						t.Fatal(err)
					}
					byValue, err := c.Marshal(want)
					if err != nil || !bytes.Equal(byValue, data) {
						t.Fatalf("by value and by pointer differ: %v", err)
					}
					kept := bytes.Clone(data)
					var got record
					if err := c.Unmarshal(data, &got); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(kept, data) {
						t.Fatal("Unmarshal changed its input")
					}
					for i := range data { // got must not alias data
						data[i] = 0xaa
					}
					if diff := cmp.Diff(want, got, equal); diff != "" {
						t.Fatalf("round trip (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

func TestRoundTripRaw(t *testing.T) {
	type name string
	type octet byte
	type blob []octet
	for _, c := range forms(codec.Raw) {
		t.Run(c.ID(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				want := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
				s := string(want)
				odd := make(blob, len(want))
				for i, b := range want {
					odd[i] = octet(b)
				}
				for _, v := range []any{want, &want, s, &s, name(s), new(name(s)), json.RawMessage(want), odd, &odd} {
					data, err := c.Marshal(v)
					if err != nil {
						t.Fatalf("Marshal(%T) = %v", v, err)
					}
					var b []byte
					var str string
					var n name
					var raw json.RawMessage
					var o blob
					for _, to := range []any{&b, &str, &n, &raw, &o} {
						if err := c.Unmarshal(data, to); err != nil {
							t.Fatalf("Unmarshal(%T) = %v", to, err)
						}
					}
					clear(data)
					if !bytes.Equal(b, want) || str != s || n != name(s) || !bytes.Equal(raw, want) || len(o) != len(odd) || (len(o) > 0 && o[0] != odd[0]) {
						t.Fatalf("round trip of %T lost something", v)
					}
				}
			})
		})
	}
}

func TestRawCopies(t *testing.T) {
	value := []byte("value")
	data := mustMarshal(t, codec.Raw, value)
	data[0] = 'X'
	if string(value) != "value" {
		t.Error("Marshal's result aliases the value")
	}
}

// Owned data is not copied, unless the value could not hold it safely.
func TestUnmarshalOwned(t *testing.T) {
	for _, c := range forms(codec.Raw) {
		t.Run(c.ID(), func(t *testing.T) {
			data := mustMarshal(t, c, []byte("value"))
			var got []byte
			if err := codec.UnmarshalOwned(c, data, &got); err != nil || string(got) != "value" {
				t.Fatalf("UnmarshalOwned = %q, %v", got, err)
			}
			if &got[0] != &data[len(data)-len(got)] {
				t.Error("the bytes were copied")
			}
			if cap(got) != len(got) {
				t.Error("there is room behind the value to append to")
			}
			var s string
			if err := codec.UnmarshalOwned(c, data, &s); err != nil {
				t.Fatal(err)
			}
			if data[len(data)-1] = 'X'; s != "value" {
				t.Error("a string aliases bytes that can change")
			}
			wantError(t, codec.UnmarshalOwned(c, data, (*[]byte)(nil)), codec.ErrType)
		})
	}
	var v struct{ A int }
	if err := codec.UnmarshalOwned(codec.JSON, []byte(`{"A":1}`), &v); err != nil || v.A != 1 {
		t.Errorf("by a codec that is no Owner: %+v, %v", v, err)
	}
}

func TestRawRefuses(t *testing.T) {
	for _, v := range []any{nil, 7, struct{}{}, []string{"a"}, (*[]byte)(nil), (*string)(nil), (*int)(nil), map[string]int{}} {
		_, err := codec.Raw.Marshal(v)
		wantError(t, err, codec.ErrType)
	}
	var s string
	for _, v := range []any{nil, new(int), (*[]byte)(nil), (*string)(nil), s, []byte{}, new(any)} {
		wantError(t, codec.Raw.Unmarshal([]byte(secret), v), codec.ErrType)
	}
}

// Each codec distinguishes these times from similar ones.
func TestTimes(t *testing.T) {
	zone := time.FixedZone("here", 5*3600+1800)
	tests := []struct {
		name string
		at   time.Time
	}{
		{"nanoseconds", time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.UTC)},
		{"offset", time.Date(2024, 1, 1, 0, 0, 0, 1, zone)},
		{"before 1970", time.Date(1901, 1, 1, 0, 0, 0, 999999999, time.UTC)},
		{"zero", time.Time{}},
	}
	for _, c := range append(forms(codec.JSON), forms(codec.CBOR)...) {
		for _, tt := range tests {
			t.Run(c.ID()+"/"+tt.name, func(t *testing.T) {
				var got time.Time
				if err := c.Unmarshal(mustMarshal(t, c, tt.at), &got); err != nil {
					t.Fatal(err)
				}
				_, wantOffset := tt.at.Zone()
				if _, offset := got.Zone(); !got.Equal(tt.at) || offset != wantOffset {
					t.Errorf("got %v, want %v", got, tt.at)
				}
			})
		}
	}
}

func TestSelfMarshallingTypes(t *testing.T) {
	type pair struct {
		T onlyText
		E everyWay
		M map[string]onlyText
		K map[onlyText]int
		R json.RawMessage
	}
	want := pair{
		T: onlyText{"b"}, E: everyWay{"c"}, M: map[string]onlyText{"k": {"v"}},
		K: map[onlyText]int{{"k"}: 1}, R: json.RawMessage(`{"x":1}`),
	}
	for _, c := range []codec.Codec{codec.JSON, codec.CBOR} {
		t.Run(c.ID(), func(t *testing.T) {
			var got pair
			if err := c.Unmarshal(mustMarshal(t, c, want), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, equal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A type that marshals itself only as JSON keeps its fields there. Other codecs refuse it instead
// of losing its fields.
func TestJSONOnlyTypes(t *testing.T) {
	var got onlyJSON
	if err := codec.JSON.Unmarshal(mustMarshal(t, codec.JSON, onlyJSON{"a"}), &got); err != nil || got.s != "<a>" {
		t.Errorf("JSON gives back %v, %v", got, err)
	}
	for _, v := range []any{
		onlyJSON{}, &onlyJSON{}, []onlyJSON{}, map[string]*onlyJSON{}, map[onlyJSON]int{}, [1]onlyJSON{},
		struct{ In struct{ A onlyJSON } }{}, struct{ onlyJSON }{},
	} {
		for range 2 { // the second answer comes from the type cache
			_, err := codec.CBOR.Marshal(v)
			wantError(t, err, codec.ErrType)
		}
	}
	for _, v := range []any{nil, record{}, struct{ hidden onlyJSON }{}, json.RawMessage("1")} {
		if _, err := codec.CBOR.Marshal(v); err != nil {
			t.Errorf("Marshal(%T) = %v", v, err)
		}
	}
}

func TestIntoAny(t *testing.T) {
	in := map[string]any{"n": 7, "neg": -7, "f": 1.5, "s": "x", "l": []any{true, nil}, "m": map[string]int{"a": 1}}
	tests := []struct {
		codec codec.Codec
		n     any
	}{{codec.JSON, float64(7)}, {codec.CBOR, int64(7)}}
	for _, tt := range tests {
		t.Run(tt.codec.ID(), func(t *testing.T) {
			var got any
			if err := tt.codec.Unmarshal(mustMarshal(t, tt.codec, in), &got); err != nil {
				t.Fatal(err)
			}
			m, ok := got.(map[string]any)
			if !ok || m["n"] != tt.n || m["f"] != 1.5 || m["s"] != "x" {
				t.Errorf("got %#v", got)
			}
			if _, ok := m["m"].(map[string]any); !ok {
				t.Errorf("inner map is %T", m["m"])
			}
		})
	}
}

func TestCBORIsDeterministic(t *testing.T) {
	m := make(map[string]int)
	for i := range 200 {
		m[fmt.Sprint(i)] = i
	}
	want := mustMarshal(t, codec.CBOR, m)
	for range 20 {
		if got := mustMarshal(t, codec.CBOR, m); !bytes.Equal(got, want) {
			t.Fatal("one map, two encodings")
		}
	}
	// RFC 8949, appendix A and section 4.2.1: shortest floats, sorted keys.
	for value, want := range map[any]string{1.5: "\xf9\x3e\x00", 100000.0: "\xfa\x47\xc3\x50\x00", math.NaN(): "\xf9\x7e\x00", uint64(24): "\x18\x18"} {
		if got := mustMarshal(t, codec.CBOR, value); string(got) != want {
			t.Errorf("Marshal(%v) = %x, want %x", value, got, want)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	type node struct{ Next *node }
	ring := &node{}
	ring.Next = ring
	tests := []struct {
		name  string
		codec codec.Codec
		value any
		want  error
	}{
		{"json channel", codec.JSON, make(chan int), codec.ErrType},
		{"json nan", codec.JSON, math.NaN(), codec.ErrValue},
		{"json cycle", codec.JSON, ring, codec.ErrValue},
		{"json bad string", codec.JSON, secret + "\xff", codec.ErrValue},
		{"json bad field", codec.JSON, &struct{ S *string }{new(secret + "\xff")}, codec.ErrValue},
		{"json bad name", codec.JSON, map[string]int{secret + "\xff": 1}, codec.ErrValue},
		{"json bad element", codec.JSON, []any{1, [1]string{secret + "\xff"}}, codec.ErrValue},
		{"json bad text", codec.JSON, onlyText{secret + "\xff"}, codec.ErrValue},
		{"json bad quoted", codec.JSON, struct {
			S string `json:",string"`
		}{secret + "\xff"}, codec.ErrValue},
		{"cbor channel", codec.CBOR, make(chan int), codec.ErrType},
		{"cbor too deep", codec.CBOR, deepList(65), codec.ErrValue},
		{"cbor too many", codec.CBOR, make([]bool, 1<<20+1), codec.ErrValue},
		{"snappy of a channel", codec.Snappy(codec.JSON, 0), make(chan int), codec.ErrType},
		{"over the limit", codec.Limit(codec.JSON, 10), strings.Repeat("x", 9), codec.ErrTooLarge},
		{"compressed over the limit", codec.Limit(codec.Deflate(codec.JSON, -1), 10), strings.Repeat("x", 9), codec.ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := tt.codec.Marshal(tt.value)
			wantError(t, err, tt.want)
			if data != nil {
				t.Errorf("%d bytes beside an error", len(data))
			}
		})
	}
}

// Text that only looks like a replaced byte is accepted.
func TestJSONKeepsGenuineReplacement(t *testing.T) {
	for _, v := range []any{"\ufffd", `\ufffd`, json.RawMessage(`"\ufffd"`), []any{"ufffd", nil}, struct {
		A json.RawMessage
		B *string
		c string
		D string `json:"-"`
	}{json.RawMessage(`"\ufffd"`), nil, "\xff", "\xff"}} {
		if _, err := codec.JSON.Marshal(v); err != nil {
			t.Errorf("Marshal(%#v) = %v", v, err)
		}
	}
}

// The search for replaced bytes ends, although a value contains itself in a field that JSON leaves
// out.
func TestJSONHiddenLoop(t *testing.T) {
	loop := new(Loop)
	loop.Next = loop
	for _, v := range []any{
		struct {
			Loop
			OtherLoop
			Text string
		}{*loop, OtherLoop{}, "ufffd"},
		struct {
			many
			Text string
		}{many{loop}, "ufffd"},
	} {
		if _, err := codec.JSON.Marshal(v); err != nil {
			t.Error(err)
		}
	}
}

type (
	Loop      struct{ Next *Loop }
	OtherLoop struct{ Next *Loop }
	many      []*Loop
)

type shape struct {
	ID    int
	Name  string
	Attrs map[string]string
	Next  *shape
	List  []shape
}

// A string that is not UTF-8 and a big integer wherever a type can hold one come back from CBOR.
func TestCBORAccepts(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 1000)
	for name, v := range map[string]any{
		"text": "\xff", "map": map[string]string{"\xff": "\xfe"}, "big": huge, "big in any": []any{*huge},
		"raw":  cbor.RawMessage("\xc2\x49\x01" + strings.Repeat("\x00", 8)),
		"deep": deepList(64),
	} {
		back := reflect.New(reflect.TypeOf(v))
		if err := codec.CBOR.Unmarshal(mustMarshal(t, codec.CBOR, v), back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), v) {
			t.Errorf("%s: %v, %v", name, back.Elem(), err)
		}
	}
}

func deepList(levels int) any {
	v := any("x")
	for range levels {
		v = []any{v}
	}
	return v
}

// A big integer of a megabyte is refused before anything reads its digits.
func TestCBORRefusesBigIntegersFast(t *testing.T) {
	data := append([]byte("\xa1\x62ID\xc2\x5a\x00\x10\x00\x00"), bytes.Repeat([]byte{0xff}, 1<<20)...)
	for _, into := range []any{new(shape), new([]int), new(string), new(time.Time)} {
		var err error
		if n := allocated(func() { err = codec.CBOR.Unmarshal(data, into) }); n > 4<<10 {
			t.Errorf("%T: refusing allocates %d bytes", into, n)
		}
		wantError(t, err, codec.ErrCorrupt)
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	var one struct{ A int }
	tests := []struct {
		name  string
		codec codec.Codec
		data  string
		into  any
		want  error
	}{
		{"json empty", codec.JSON, ``, &one, codec.ErrCorrupt},
		{"json truncated", codec.JSON, `{"A":1`, &one, codec.ErrCorrupt},
		{"json trailing data", codec.JSON, `{"A":1} {}`, &one, codec.ErrCorrupt},
		{"json wrong type", codec.JSON, `{"A":"` + secret + `"}`, &one, codec.ErrCorrupt},
		{"json nil pointer", codec.JSON, `{}`, (*record)(nil), codec.ErrType},
		{"json no pointer", codec.JSON, `{}`, one, codec.ErrType},
		{"cbor empty", codec.CBOR, "", &one, codec.ErrCorrupt},
		{"cbor truncated", codec.CBOR, "\xa1\x61A", &one, codec.ErrCorrupt},
		{"cbor trailing data", codec.CBOR, "\xa0\xa0", &one, codec.ErrCorrupt},
		{"cbor wrong type", codec.CBOR, "\xa1\x61A\x66" + secret, &one, codec.ErrCorrupt},
		{"cbor duplicate key", codec.CBOR, "\xa2\x61A\x01\x61A\x02", &one, codec.ErrCorrupt},
		{"cbor duplicate key into any", codec.CBOR, "\xa2\x61A\x01\x61A\x02", new(any), codec.ErrCorrupt},
		{"cbor open length", codec.CBOR, "\x9f\x01\xff", new([]int), codec.ErrCorrupt},
		{"cbor too deep", codec.CBOR, strings.Repeat("\x81", 65) + "\x01", new(any), codec.ErrCorrupt},
		{"cbor big integer", codec.CBOR, "\xc2\x49\x01" + strings.Repeat("\x00", 8), new(uint64), codec.ErrCorrupt},
		{"cbor big integer inside", codec.CBOR, "\x81\xa1\x61A\xc2\x41\x01", new([]shape), codec.ErrCorrupt},
		{"cbor int key into any", codec.CBOR, "\xa1\x01\x01", new(any), codec.ErrCorrupt},
		{"cbor nil pointer", codec.CBOR, "\xa0", (*record)(nil), codec.ErrType},
		{"plain over the limit", codec.Limit(codec.Raw, 3), secret, new(string), codec.ErrTooLarge},
		{"tagged plain over the limit", codec.Limit(codec.Snappy(codec.Raw, 0), 3), "\x00" + secret, new(string), codec.ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, tt.codec.Unmarshal([]byte(tt.data), tt.into), tt.want)
		})
	}
}

func TestCauseIsInReach(t *testing.T) {
	err := codec.JSON.Unmarshal([]byte(`{`), new(any))
	if _, ok := errors.AsType[*json.SyntaxError](err); !ok {
		t.Errorf("error = %v, want the json error in reach", err)
	}
	_, err = codec.Raw.Marshal(7)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		t.Errorf("error = %v holds an error it does not have", err)
	}
}
