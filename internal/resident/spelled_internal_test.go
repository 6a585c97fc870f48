package resident

import (
	"math"
	"reflect"
	"testing"

	"github.com/twofold-go/twofold/key"
)

type (
	small uint8
	name  string
)

// setKey finds each key by the id that package key gives it, and no key by another spelling.
func TestSetKey(t *testing.T) {
	inverse(t, "", "a", "a:b", "100%", "a b", "\xff", "ü{1}")
	inverse[name](t, "", "x:y")
	inverse(t, 0, 7, -7, math.MaxInt, math.MinInt)
	inverse[int8](t, -128, 127)
	inverse[small](t, 0, 255)
	inverse[uint64](t, math.MaxUint64)
	refused[int](t, "", "042", "+5", "-0", "1e3", "9223372036854775808", "x", " 1")
	refused[int8](t, "128", "-129")
	refused[small](t, "256", "-1", "01")
	refused[string](t, "a:b", "%41", "%3a", "%", "a b")
	refused[struct{ N int }](t, "1")
}

func inverse[K comparable](t *testing.T, keys ...K) {
	t.Helper()
	for _, want := range keys {
		id, err := key.Of(want)
		if id == "" { // the empty string has no id
			continue
		}
		var got K
		if ok := setKey(reflect.ValueOf(&got).Elem(), id); err != nil || !ok || got != want {
			t.Errorf("%T %q: %v, %t, %v, want %v", want, id, got, ok, err, want)
		}
	}
}

func refused[K comparable](t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		var got K
		if setKey(reflect.ValueOf(&got).Elem(), id) {
			t.Errorf("%T %q: %v, want none", got, id, got)
		}
	}
}
