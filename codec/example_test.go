package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/twofold-go/twofold/codec"
)

func ExampleSnappy() {
	c := codec.Snappy(codec.JSON, 0)
	short, _ := c.Marshal("hello")
	long, _ := c.Marshal(strings.Repeat("hello ", 1000))
	fmt.Println(c.ID(), len(short), len(long) < 400)

	var s string
	err := c.Unmarshal(long, &s)
	fmt.Println(len(s), err)
	// Output:
	// json+snappy 8 true
	// 6000 <nil>
}

func ExampleLimit() {
	c := codec.Limit(codec.Deflate(codec.Raw, 0), 1<<20)
	_, err := c.Marshal(make([]byte, 2<<20))
	fmt.Println(err)
	// Output:
	// codec: value too large: raw+deflate, 2097152 bytes, at most 1048576
}

func ExampleSet_Lookup() {
	set, err := codec.NewSet(codec.Builtin()...)
	if err != nil {
		panic(err)
	}
	c, ok := set.Lookup("cbor+deflate") // the id in a cell's header
	fmt.Println(c.ID(), ok)
	// Output: cbor+deflate true
}

// Account is a value that encoding/json does not preserve.
type Account struct {
	Name  string
	limit int
}

func ExampleCheckerOf() {
	err := codec.CheckerOf(codec.JSON).Check(reflect.TypeFor[Account]())
	fmt.Println(errors.Is(err, codec.ErrType))
	if e, ok := errors.AsType[*codec.TypeError](err); ok {
		for _, f := range e.Faults {
			fmt.Println(f.Path, f.Type, f.Reason)
		}
	}

	fmt.Println(codec.CheckerOf(codec.Snappy(codec.CBOR, 0)).Check(reflect.TypeFor[map[string]int]()))
	// Output:
	// true
	// Account.limit int is unexported and is left out
	// <nil>
}

func ExampleLossy() {
	c := codec.Lossy(codec.JSON) // other processes do not need the limit
	data, _ := c.Marshal(Account{Name: "Ann", limit: 7})
	var a Account
	err := c.Unmarshal(data, &a)
	fmt.Println(c.ID(), codec.CheckerOf(c) == nil, a.Name, a.limit, err)
	// Output: json true Ann 0 <nil>
}

func ExampleMarshalWithin() {
	const limit = 1000
	data, err := codec.MarshalWithin(codec.CBOR, []string{"a", "b"}, limit)
	fmt.Println(len(data), err)

	var back []string
	err = codec.UnmarshalWithin(codec.CBOR, data, &back, limit, false)
	fmt.Println(back, err)

	// A few bytes that decompress to more than the limit are refused.
	small, _ := codec.Snappy(codec.Raw, 0).Marshal(make([]byte, 10_000))
	err = codec.UnmarshalWithin(codec.Snappy(codec.Raw, 0), small, new([]byte), limit, true)
	fmt.Println(len(small) < limit, codec.PlainLen(codec.Snappy(codec.Raw, 0), small), errors.Is(err, codec.ErrTooLarge))
	// Output:
	// 5 <nil>
	// [a b] <nil>
	// true 10000 true
}

func ExampleUnmarshalOwned() {
	data := []byte("hello")
	var b []byte
	err := codec.UnmarshalOwned(codec.Raw, data, &b) // data belongs to b from now on
	fmt.Println(string(b), &b[0] == &data[0], err)
	// Output: hello true <nil>
}

func ExampleFingerprint() {
	type v1 struct{ Name string }
	type v2 struct {
		Name string
		Age  int
	}
	f := codec.Fingerprint(reflect.TypeFor[v1]())
	fmt.Println(f == codec.Fingerprint(reflect.TypeFor[v1]()), f == codec.Fingerprint(reflect.TypeFor[v2]()))
	// Output: true false
}

func ExampleSet_IDs() {
	set, err := codec.NewSet(codec.JSON, codec.Deflate(codec.CBOR, codec.DefaultMinSize))
	fmt.Println(set.IDs(), err)

	_, err = codec.NewSet(codec.JSON, codec.JSON)
	fmt.Println(errors.Is(err, codec.ErrID))
	// Output:
	// [cbor+deflate json] <nil>
	// true
}

func Example_errors() {
	_, err := codec.JSON.Marshal(func() {})
	fmt.Println(errors.Is(err, codec.ErrType))
	_, err = codec.JSON.Marshal("\xff")
	fmt.Println(errors.Is(err, codec.ErrValue))
	err = codec.JSON.Unmarshal([]byte("{"), new(int))
	fmt.Println(errors.Is(err, codec.ErrCorrupt))
	_, err = codec.Limit(codec.Raw, codec.MaxDecoded).Marshal(make([]byte, codec.MaxDecoded+1))
	fmt.Println(errors.Is(err, codec.ErrTooLarge))
	// Output:
	// true
	// true
	// true
	// true
}

// rot13 is a custom codec. It has its own Check, and passes owned data to the inner codec.
type rot13 struct{ codec.Codec }

func (rot13) ID() string { return "rot13" }

func (c rot13) Check(t reflect.Type) error { return codec.CheckerOf(c.Codec).Check(t) }

func (c rot13) Marshal(v any) ([]byte, error) {
	data, err := c.Codec.Marshal(v)
	return turn(data), err
}

func (c rot13) Unmarshal(data []byte, v any) error { return c.Codec.Unmarshal(turn(data), v) }

func (c rot13) UnmarshalOwned(data []byte, v any) error {
	return codec.UnmarshalOwned(c.Codec, turn(data), v)
}

func turn(data []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, data)
}

// A custom codec can be a Checker and an Owner.
func ExampleCodec() {
	var c interface {
		codec.Checker
		codec.Owner
	} = rot13{codec.Raw}
	data, err := c.Marshal("hello")
	fmt.Println(string(data), err)
	var s string
	err = c.Unmarshal(data, &s)
	fmt.Println(s, err, c.Check(reflect.TypeFor[string]()))
	// Output:
	// uryyb <nil>
	// hello <nil> <nil>
}
