package codec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/codec"
)

// named is a codec with any id.
type named struct {
	codec.Codec
	id string
}

func (n named) ID() string { return n.id }

func TestBuiltin(t *testing.T) {
	set, err := codec.NewSet(codec.Builtin()...)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cbor", "cbor+deflate", "cbor+snappy", "json", "json+deflate", "json+snappy", "raw", "raw+deflate", "raw+snappy"}
	if diff := cmp.Diff(want, set.IDs()); diff != "" {
		t.Errorf("IDs (-want +got):\n%s", diff)
	}
	for _, id := range want {
		if c, ok := set.Lookup(id); !ok || c.ID() != id {
			t.Errorf("Lookup(%q) = %v, %v", id, c, ok)
		}
	}
	if _, ok := set.Lookup("xml"); ok {
		t.Error("Lookup finds a codec that is not in the set")
	}
}

func TestZeroSet(t *testing.T) {
	var s codec.Set
	if _, ok := s.Lookup("json"); ok || len(s.IDs()) != 0 {
		t.Error("the zero Set is not empty")
	}
}

func TestNewSetRefuses(t *testing.T) {
	with := func(id string) codec.Codec { return named{codec.JSON, id} }
	tests := []struct {
		name   string
		codecs []codec.Codec
	}{
		{"nil", []codec.Codec{nil}},
		{"repeated", []codec.Codec{codec.JSON, codec.JSON}},
		{"repeated by another size", []codec.Codec{codec.Snappy(codec.JSON, 1), codec.Snappy(codec.JSON, 2)}},
		{"empty id", []codec.Codec{with("")}},
		{"long id", []codec.Codec{with(strings.Repeat("x", 65))}},
		{"upper case", []codec.Codec{with("JSON")}},
		{"colon", []codec.Codec{with("json:1")}},
		{"space", []codec.Codec{with("js on")}},
		{"not ASCII", []codec.Codec{with("jsön")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := codec.NewSet(tt.codecs...); !errors.Is(err, codec.ErrID) {
				t.Errorf("NewSet = %v, want ErrID", err)
			}
		})
	}
	if _, err := codec.NewSet(with(strings.Repeat("x", 64)), with("a-z0.9_+")); err != nil {
		t.Errorf("NewSet = %v, want nil", err)
	}
}
