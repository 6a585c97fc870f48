package codec_test

import (
	"fmt"
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
