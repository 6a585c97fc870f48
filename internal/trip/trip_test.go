package trip_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/trip"
)

type part struct {
	Name   string
	at     time.Time
	Skip   int `json:"-"`
	Any    any
	Parts  []part
	ByName map[string]*part
}

func TestDiff(t *testing.T) {
	now := time.Now()
	base := func() *part {
		return &part{Name: "a", at: now, Any: 1.5, Parts: []part{{at: now}}, ByName: map[string]*part{"x": {Name: "x", Any: math.NaN()}}}
	}
	for name, tt := range map[string]struct {
		change func(*part)
		want   string
	}{
		"nothing":        {func(*part) {}, ""},
		"excluded":       {func(p *part) { p.Skip = 1 }, ""},
		"empty":          {func(p *part) { p.Parts[0].Parts = []part{} }, ""},
		"another zone":   {func(p *part) { p.at = now.UTC().Round(0) }, ""},
		"unexported":     {func(p *part) { p.at = now.Add(1) }, "part.at"},
		"in a slice":     {func(p *part) { p.Parts[0].Name = "b" }, "part.Parts[].Name"},
		"length":         {func(p *part) { p.Parts = nil }, "part.Parts"},
		"in a map":       {func(p *part) { p.ByName["x"].Name = "y" }, "part.ByName[].Name"},
		"key":            {func(p *part) { p.ByName = map[string]*part{"z": nil} }, "part.ByName[key]"},
		"nil pointer":    {func(p *part) { p.ByName["x"] = nil }, "part.ByName[]"},
		"interface type": {func(p *part) { p.Any = 1 }, "part.Any"},
		"interface":      {func(p *part) { p.Any = 2.5 }, "part.Any"},
	} {
		b := base()
		tt.change(b)
		if got := trip.Diff(base(), b); got != tt.want {
			t.Errorf("%s: Diff = %q, want %q", name, got, tt.want)
		}
	}
}

func TestDiffOfOneType(t *testing.T) {
	raw := func(s string) *json.RawMessage { return new(json.RawMessage(s)) }
	loop := &part{}
	loop.ByName = map[string]*part{"": loop}
	for name, tt := range map[string]struct {
		got  string
		same bool
	}{
		"numbers":      {trip.Diff(new(1), new(2)), false},
		"white space":  {trip.Diff(raw(`{"a": 1}`), raw(`{"a":1}`)), true},
		"null":         {trip.Diff(new(json.RawMessage(nil)), raw("null")), true},
		"other JSON":   {trip.Diff(raw("1"), raw("2")), false},
		"big numbers":  {trip.Diff(new(big.NewInt(1)), new(big.NewInt(2))), false},
		"arrays":       {trip.Diff(new([2]int{1}), new([2]int{1})), true},
		"functions":    {trip.Diff(new(func() {}), new(func() {})), false},
		"no functions": {trip.Diff(new((func())(nil)), new((func())(nil))), true},
		"a loop":       {trip.Diff(loop, loop), true},
	} {
		if (tt.got == "") != tt.same {
			t.Errorf("%s: Diff = %q, want equal: %v", name, tt.got, tt.same)
		}
	}
}
