package codec_test

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twofold-go/twofold/codec"
)

// same reports whether values are equal, where nil and empty are the same.
func same(a, b any) bool {
	return cmp.Equal(a, b, cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.Comparer(func(a, b big.Int) bool { return a.Cmp(&b) == 0 }))
}

// survives encodes and decodes a value, and reports whether it came back equal.
func survives(c codec.Codec, v reflect.Value) bool {
	defer func() { _ = recover() }()
	data, err := c.Marshal(v.Interface())
	if err != nil {
		return false
	}
	back := reflect.New(v.Type())
	return c.Unmarshal(data, back.Interface()) == nil && same(v.Interface(), back.Elem().Interface())
}

// typesOf makes random types.
type typesOf struct{ *rand.Rand }

// The leaves of random types, with an example of each.
var (
	goodLeaves = []any{
		true, int(-7), int8(-8), int64(1<<62 + 1), uint8(200), uint64(1<<64 - 1), float32(1.5), 0.1, "text", []byte("bytes"), time.Minute,
		time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), netip.MustParseAddr("10.0.0.1"), big.NewInt(1 << 60), onlyText{"t"}, everyWay{"e"},
	}
	badLeaves = []any{
		func() {}, make(chan int), complex(1, 2), *big.NewInt(1 << 60), jsonWay{"j"}, halfWay{"h"}, embeds{time.Unix(1, 0).UTC(), "n"},
		ptrWay{"p"},
	}
	keys = []any{
		-7, uint8(1), "text", netip.MustParseAddr("10.0.0.1"), onlyText{"t"}, [2]int{1, 2}, true,
		time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC),
	}
	interfaces = []reflect.Type{reflect.TypeFor[any](), reflect.TypeFor[error](), reflect.TypeFor[interface{ M() int }]()}
	tags       = []string{"", "", "", `json:",omitempty"`, `json:",omitzero"`, `json:"-"`, `json:"same"`, `json:"other,omitempty"`, `json:",string"`}
)

// halfWay can marshal itself but not unmarshal.
type halfWay struct{ S string }

func (h halfWay) MarshalText() ([]byte, error) { return []byte("half " + h.S), nil }

// ptrWay marshals itself only by its pointer.
type ptrWay struct{ s string }

func (p *ptrWay) MarshalText() ([]byte, error) { return []byte(p.s), nil }
func (p *ptrWay) UnmarshalText(b []byte) error { p.s = string(b); return nil }

// jsonWay marshals itself only as JSON.
type jsonWay struct{ s string }

func (j jsonWay) MarshalJSON() ([]byte, error)  { return json.Marshal(j.s) }
func (j *jsonWay) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &j.s) }

// mWay has a method M.
type mWay struct{ N int }

func (m mWay) M() int { return m.N }

// embeds marshals itself by the methods of its embedded type.
type embeds struct {
	time.Time
	Name string
}

func (r typesOf) of(depth int) reflect.Type {
	if depth == 0 || r.IntN(4) == 0 {
		if n := r.IntN(40); n < 3 {
			return interfaces[n]
		} else if n < 9 {
			return reflect.TypeOf(badLeaves[r.IntN(len(badLeaves))])
		}
		return reflect.TypeOf(goodLeaves[r.IntN(len(goodLeaves))])
	}
	switch elem := r.of(depth - 1); r.IntN(6) {
	case 0:
		if elem.Kind() == reflect.Pointer {
			return elem
		}
		return reflect.PointerTo(elem)
	case 1:
		return reflect.SliceOf(elem)
	case 2:
		return reflect.ArrayOf(2, elem)
	case 3:
		return reflect.MapOf(reflect.TypeOf(keys[r.IntN(len(keys))]), elem)
	}
	return r.structure(depth)
}

func (r typesOf) structure(depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range 1 + r.IntN(3) {
		f := reflect.StructField{Name: "F" + strconv.Itoa(i), Type: r.of(depth - 1), Tag: reflect.StructTag(tags[r.IntN(len(tags))])}
		if r.IntN(12) == 0 {
			f.Name, f.PkgPath = "f"+strconv.Itoa(i), "example.com/p"
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// fillAll sets every part of v, unexported ones too, to a value other than zero. Excluded fields
// stay zero.
func fillAll(v reflect.Value) {
	for _, leaf := range slices.Concat(badLeaves, goodLeaves, keys) {
		if v.Type() == reflect.TypeOf(leaf) {
			v.Set(reflect.ValueOf(leaf))
			return
		}
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.Type() == interfaces[0] {
			v.Set(reflect.ValueOf(int32(7)))
		} else if v.Type() == interfaces[1] {
			v.Set(reflect.ValueOf(codec.ErrType))
		} else {
			v.Set(reflect.ValueOf(mWay{1}))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fillAll(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fillAll(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillAll(key)
		fillAll(elem)
		v.SetMapIndex(key, elem)
		move(key)
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() || f.Tag.Get("json") != "-" && f.Tag.Get("cbor") != "-" {
				fillAll(reflect.NewAt(f.Type, unsafe.Pointer(v.Field(i).UnsafeAddr())).Elem())
			}
		}
	default:
		fillNumber(v)
	}
}

// move changes a time to the same instant in another location.
func move(v reflect.Value) {
	if at, ok := reflect.TypeAssert[time.Time](v); ok {
		v.Set(reflect.ValueOf(at.In(time.FixedZone("", 0))))
	}
}

func fillNumber(v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(5)
	case v.CanUint():
		v.SetUint(6)
	case v.CanFloat():
		v.SetFloat(7)
	case v.Kind() == reflect.String:
		v.SetString("s")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	}
}
