package key

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"testing/quick"
	"time"
)

type plainInner struct {
	B    bool
	U    uint16
	Text string `json:"text"`
}

type plainOuter struct {
	Z     int64  `json:"a_9"`
	Name  string `json:"Z"`
	Inner plainInner
	Took  time.Duration
	Small uint8
	Big   uint64
	Empty struct{}
}

type (
	withTime   struct{ At time.Time }
	withNumber struct{ N json.Number }
	withOmit   struct {
		N int `json:"n,omitempty"`
	}
	withDash struct {
		N int `json:"-"`
	}
	withHidden struct{ n int }
	withEmbed  struct{ plainInner }
	withTwo    struct {
		X int
		B int `json:"X"`
	}
	withPointer struct{ P *int }
	withFloat   struct{ F float64 }
	withOddName struct {
		N int `json:"ä"`
	}
)

// TestPlainAgrees compares the short way of Hash with the long one.
func TestPlainAgrees(t *testing.T) {
	same := func(v any) bool {
		got, err := Hash(v)
		want, wantErr := hashSlowly(v)
		return got == want && (err == nil) == (wantErr == nil)
	}
	for _, v := range []any{
		plainOuter{}, plainOuter{Z: -1, Name: "it's <plain> & short"}, plainOuter{Name: "quote \" and \\"}, plainOuter{Name: "ä\x00"},
		plainOuter{Name: "\x00int:1"}, plainOuter{Name: "\xff"}, plainOuter{Name: "\x7f"}, plainOuter{Big: math.MaxUint64}, plainOuter{Z: 1 << 53},
		plainOuter{Z: 1<<53 - 1}, plainOuter{Z: math.MinInt64}, plainOuter{Z: 1 - 1<<53}, plainOuter{Big: 1 << 53}, &plainOuter{Z: 1}, struct{}{},
		withTime{}, withNumber{"1"}, withOmit{}, withDash{}, withHidden{1}, withEmbed{}, withTwo{}, withPointer{}, withFloat{1}, withOddName{},
		1, "text", nil, []int{1}, map[string]int{"a": 1},
	} {
		if !same(v) {
			t.Errorf("the ids of %#v differ", v)
		}
	}
	if err := quick.Check(func(v plainOuter) bool { return same(v) }, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
	if err := quick.Check(func(z int64, b bool, u uint16, big uint32) bool {
		v := plainOuter{Z: z >> 12, Inner: plainInner{B: b, U: u, Text: "text"}, Big: uint64(big)}
		_, short := appendPlain(nil, reflect.ValueOf(v))
		return short && same(v)
	}, nil); err != nil {
		t.Error(err)
	}
}

// TestPlainRefuses: types whose JSON needs more than their kinds take the long way.
func TestPlainRefuses(t *testing.T) {
	for _, v := range []any{
		withTime{}, withNumber{"1"}, withOmit{}, withDash{}, withHidden{1}, withEmbed{}, withTwo{}, withPointer{}, withFloat{1}, withOddName{}, 1, "text",
	} {
		if _, short := appendPlain(nil, reflect.ValueOf(v)); short {
			t.Errorf("%#v took the short way", v)
		}
	}
}
