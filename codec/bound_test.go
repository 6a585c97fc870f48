package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/twofold-go/twofold/codec"
)

type shape struct {
	ID    int
	Name  string
	Attrs map[string]string
	Next  *shape
	List  []shape
	Any   any
}

// plainOnly is a codec without the optional interfaces.
type plainOnly struct{ codec.Codec }

// UnmarshalWithin reads what MarshalWithin writes under the same limit, and refuses what it
// refuses.
func TestWithinIsOneRule(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value any
		limit int
		fits  bool
	}{
		{name: "small", value: shape{ID: 1, Name: "a", Attrs: map[string]string{"a": "b"}, Any: []any{"x"}}, limit: 1000, fits: true},
		{name: "as long as the limit", value: strings.Repeat("x", 990), limit: 1000, fits: true},
		{name: "too long", value: strings.Repeat("x", 1001), limit: 1000},
		{name: "numbers", value: make([]int, 400), limit: 1000, fits: true},
		{name: "strings", value: strings.Split(strings.Repeat("ab,", 180), ","), limit: 1000, fits: true},
		{name: "small maps", value: []map[string]string{{"a": "b"}, {"c": "d"}, {"e": "f"}}, limit: 1000, fits: true},
		{name: "structs as nulls", value: make([]*shape, 180), limit: 1000, fits: true},
		{name: "many empty maps", value: times(map[string]string{}, 300), limit: 1000},
		{name: "many empty values of any shape", value: times(any(map[string]any{}), 300), limit: 1000},
		{name: "many empty values in a tag", value: cbor.Tag{Number: 100, Content: times(any(map[string]any{}), 300)}, limit: 1000},
		{name: "many empty structs", value: make([]struct{}, 300), limit: 1000, fits: true},
		{name: "no limit", value: make([]struct{}, 300), limit: math.MaxInt, fits: true},
		{name: "numbers beside wide structs", value: mixed{Rows: make([]wide, 1), Points: make([]int, 450)}, limit: 4000, fits: true},
	} {
		for _, base := range []codec.Codec{codec.JSON, codec.CBOR} {
			for _, c := range append(forms(base), codec.Limit(base, 0), codec.Limit(codec.Deflate(base, 0), 0)) {
				t.Run(tt.name+", "+c.ID(), func(t *testing.T) {
					into := reflect.TypeOf(tt.value)
					data, err := codec.MarshalWithin(c, tt.value, into, tt.limit)
					if (err == nil) != tt.fits || (err != nil && !errors.Is(err, codec.ErrTooLarge)) {
						t.Fatalf("MarshalWithin = %d bytes, %v; want it to fit: %v", len(data), err, tt.fits)
					}
					if err != nil {
						if data, err = c.Marshal(tt.value); err != nil {
							t.Fatal(err)
						}
					}
					kept := bytes.Clone(data)
					for _, owned := range []bool{false, true} {
						got := reflect.New(into)
						err = codec.UnmarshalWithin(c, data, got.Interface(), tt.limit, owned)
						if (err == nil) != tt.fits || (err != nil && !errors.Is(err, codec.ErrTooLarge)) {
							t.Errorf("UnmarshalWithin = %v, want it to fit: %v", err, tt.fits)
						}
						if err == nil && fmt.Sprint(got.Elem()) == "" {
							t.Error("nothing was read")
						}
					}
					if !bytes.Equal(kept, data) {
						t.Error("UnmarshalWithin changed its input")
					}
				})
			}
		}
	}
}

// A decoder makes the elements of a slice, and what pointers point to, although the items are of
// another kind. So many short items in place of structs would take much memory.
func TestWithinCountsMisfits(t *testing.T) {
	const n = 100_000
	list := make([]int, n)
	for _, c := range []codec.Codec{codec.JSON, codec.CBOR} {
		for _, items := range []any{list, make([]string, n), times([]int{}, n), times(false, n), map[string]any{"rows": list, "Rows": list}} {
			for _, into := range []any{[]wide{}, []*wide{}, [][3]wide{}, mixed{}, map[string][]wide{}, []widest{}, otherFormat{}, otherItems{}} {
				data := mustMarshal(t, c, items)
				used := allocated(func() {
					_ = codec.UnmarshalWithin(c, data, reflect.New(reflect.TypeOf(into)).Interface(), 1<<20, false)
				})
				if most := uint64(5 * codec.Expansion << 20); used > most { // a slice grows by copying
					t.Errorf("%s: %d bytes of %T into %T took %d bytes, want at most %d", c.ID(), len(data), items, into, used, most)
				}
			}
		}
	}
}

type (
	wide   struct{ A, B [512]int64 }
	widest struct{ *Wide }
	Wide   wide
	mixed  struct {
		Rows   []wide
		Points []int
	}
	otherFormat struct{ Rows []wide } // JSON does not call its methods, and CBOR only for bytes
	otherItems  struct{ Rows []wide } // CBOR does not call its methods
)

func (otherFormat) MarshalBinary() ([]byte, error)  { return nil, nil }
func (*otherFormat) UnmarshalBinary(_ []byte) error { return nil }

func (otherItems) MarshalJSON() ([]byte, error)  { return []byte("0"), nil }
func (*otherItems) UnmarshalJSON(_ []byte) error { return nil }

// Reading the names that a type does not know takes about as much memory as the names.
func TestWithinReadsNamesOnce(t *testing.T) {
	type known struct{ Aaa1, Aaa2, Aaa3, Aaa4, Aaa5, Aaa6, Aaa7, Aaa8, Aaa9 int }
	data := []byte(`{` + strings.Repeat(`"`+strings.Repeat("a", 2000)+`":0,`, 500) + `"aAa9":1}`)
	var v known
	used := allocated(func() {
		if err := codec.UnmarshalWithin(codec.JSON, data, &v, len(data), false); err != nil || v.Aaa9 != 1 {
			t.Errorf("%+v, %v", v, err)
		}
	})
	if most := uint64(8 * len(data)); used > most {
		t.Errorf("%d bytes took %d bytes, want at most %d", len(data), used, most)
	}
}

// The limit finds the fields that encoding/json finds, in any letter case.
func TestWithinFindsNames(t *testing.T) {
	type fields struct {
		Kelvins []wide `json:"kelvinſ"`
		Other   []wide `json:"OTHER"`
		Same    []wide `json:"other"`
	}
	for _, name := range []string{"kelvinſ", "KELVINS", "Kelvins", `\u212aelvins`, "other", "OTHER", "oTHER"} {
		data := []byte(`{"` + name + `":[` + strings.Repeat("0,", 1000) + `0]}`)
		if err := codec.UnmarshalWithin(codec.JSON, data, new(fields), 10_000, false); !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func times[T any](v T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// The limit applies to the bytes before compression. For a codec that is not Bounded it applies
// only to the bytes.
func TestWithinBytes(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, c := range []codec.Codec{codec.Raw, codec.Snappy(codec.Raw, 0), codec.Deflate(codec.Raw, 0), plainOnly{codec.Raw}} {
		for _, limit := range []int{len(long), len(long) - 1} {
			data, err := codec.MarshalWithin(c, long, reflect.TypeFor[string](), limit)
			if fits := limit == len(long); fits != (err == nil) || !fits && !errors.Is(err, codec.ErrTooLarge) {
				t.Errorf("%s: MarshalWithin %d bytes, limit %d = %v", c.ID(), len(long), limit, err)
			}
			if err != nil {
				data = mustMarshal(t, c, long)
			}
			var got string
			err = codec.UnmarshalWithin(c, data, &got, limit, false)
			if fits := limit == len(long); fits != (err == nil) || fits && got != long || !fits && !errors.Is(err, codec.ErrTooLarge) {
				t.Errorf("%s: UnmarshalWithin %d bytes, limit %d = %v", c.ID(), len(long), limit, err)
			}
		}
	}
}

// The tag byte of a compressed codec counts for the codec that compresses it again.
func TestWithinTwice(t *testing.T) {
	c := codec.Snappy(codec.Deflate(codec.Raw, 0), 0)
	_, err := codec.MarshalWithin(c, "abc", reflect.TypeFor[string](), 3)
	var s string
	if got := codec.UnmarshalWithin(c, mustMarshal(t, c, "abc"), &s, 3, false); (got == nil) != (err == nil) {
		t.Errorf("MarshalWithin = %v, UnmarshalWithin = %v", err, got)
	}
}

// For any bytes, a limit refuses them or changes nothing.
func FuzzUnmarshalWithin(f *testing.F) {
	for _, c := range all() {
		seedValues(f, c)
	}
	f.Add([]byte("[null,null,{},{},[],\"\\\""))
	f.Add([]byte("\x9a\x00\x00\x00\x04\xf6\xf6\xa0\xa0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range all() {
			for _, limit := range []int{1, 16, 1 << 20} {
				for _, into := range []func() any{func() any { return new(any) }, func() any { return new([]shape) }, func() any { return new(map[string][]record) }} {
					within, without := into(), into()
					err, want := codec.UnmarshalWithin(c, data, within, limit, false), c.Unmarshal(data, without)
					switch {
					case errors.Is(err, codec.ErrTooLarge):
					case (err == nil) != (want == nil):
						t.Errorf("%s: within %d: %v, without: %v", c.ID(), limit, err, want)
					case err == nil && fmt.Sprint(within) != fmt.Sprint(without) && !strings.Contains(fmt.Sprint(within), "0x"):
						t.Errorf("%s: within %d: %v, without: %v", c.ID(), limit, within, without)
					}
				}
			}
		}
	})
}

// BenchmarkUnmarshalWithin measures the limit. For a value far below the limit it looks at the
// type; for a value near the limit it counts.
func BenchmarkUnmarshalWithin(b *testing.B) {
	value := items(10 << 10)
	for _, c := range []codec.Codec{codec.JSON, codec.CBOR} {
		data := mustMarshal(b, c, value)
		for name, read := range map[string]func(v any) error{
			"without": func(v any) error { return c.Unmarshal(data, v) },
			"far":     func(v any) error { return codec.UnmarshalWithin(c, data, v, 1<<20, false) },
			"near":    func(v any) error { return codec.UnmarshalWithin(c, data, v, 16<<10, false) },
		} {
			b.Run(c.ID()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var out []item
					if err := read(&out); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
