package codec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/codec"
)

// mistake returns a random type for which check is wrong: it accepts the type although values
// change, or refuses it although they do not.
func mistake(c codec.Codec, check func(reflect.Type) error, r typesOf, tries int) error {
	for range tries {
		typ := r.of(3)
		err := check(typ)
		v := reflect.New(typ).Elem()
		zero := survives(c, v)
		fillAll(v)
		switch full := survives(c, v); {
		case err == nil && (!full || !zero):
			return fmt.Errorf("%s: Check accepts %v, and a value does not survive; the zero value does: %v", c.ID(), typ, zero)
		case err != nil && full && c != codec.Raw && !strings.Contains(typ.String(), `"-\"`): // only excluded fields are lost
			return fmt.Errorf("%s: Check = %w, and a value survives", c.ID(), err)
		}
	}
	return nil
}

// Check is right about random types. A weaker check would fail this test.
func TestCheckRandomTypes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := typesOf{rand.New(rand.NewPCG(seed, 1))}
	for _, c := range []codec.Codec{codec.JSON, codec.CBOR, codec.Raw} {
		check := codec.CheckerOf(c).Check
		if err := mistake(c, check, r, 2000); err != nil {
			t.Error(err)
		}
		for _, weak := range []string{"is unexported", "is an interface", "of what it embeds", "is a time in a key"} {
			weaker := func(typ reflect.Type) error {
				if e, ok := errors.AsType[*codec.TypeError](check(typ)); ok && !strings.Contains(e.Faults[0].Reason, weak) {
					return e
				}
				return nil
			}
			// JSON with a time in a key is the rarest: one type in 290. All of these miss it once in 10^30 runs.
			if c != codec.Raw && mistake(c, weaker, r, 20_000) == nil {
				t.Errorf("%s: the test does not detect that a type that %s is accepted", c.ID(), weak)
			}
		}
	}
}

type (
	hidden  struct{ A, secret int }
	profile struct {
		ID    int
		cache map[string]int
	}
	user    struct{ Profile profile }
	handler struct {
		Name string
		Done func()
	}
	login struct {
		ID   int
		Hash string `json:"-"`
	}
	shortLogin struct {
		ID   int
		Hash string `json:"hash" cbor:"-"`
	}
	family struct {
		Name     string
		Children []*family
	}
	core     struct{ ID int }
	Common   struct{ ID int }
	optional struct {
		ID int `json:",omitempty"`
	}
	Optional optional
	Titled   struct{ Title string }
	okTypes  struct {
		core
		*Titled
		_      [0]func()
		mu     chan int `json:"-"`
		note   string   `json:"-"`
		Header http.Header
		Tree   *family
		ByAddr map[netip.Addr][]time.Time
		Pat    *regexp.Regexp
	}
	hidesCommon struct {
		Common
		ID int
	}
	Second struct{ ID int }
	twice  struct {
		Common
		Second
	}
	hiddenPointer struct{ *core }
	odd           int
)

func (odd) MarshalText() ([]byte, error) { return []byte("odd"), nil }

// level is a string with a text of its own that keeps it.
type level string

func (l level) MarshalText() ([]byte, error) { return []byte(l), nil }
func (l *level) UnmarshalText(b []byte) error {
	*l = level(b)
	return nil
}

type partyAt struct {
	At time.Time `json:",omitzero"`
}

// bothTimes has two keys for one instant.
func bothTimes() map[time.Time]int {
	at := time.Unix(0, 0).UTC()
	return map[time.Time]int{at: 1, at.In(time.FixedZone("", 0)): 2}
}

// If Check refuses a type, the codec changes a value of it or cannot encode it.
func TestCheckRefuses(t *testing.T) {
	_, _, _ = okTypes{}.note, okTypes{}.core, okTypes{}.mu
	tests := []struct {
		codec codec.Codec
		value any
		fault string // its path and reason
	}{
		{codec.JSON, hidden{1, 7}, "hidden.secret (int) is unexported"},
		{codec.JSON, login{1, "x"}, `login.Hash (string) is left out by its tag "-"`},
		{codec.CBOR, login{1, "x"}, `login.Hash (string) is left out by its tag "-"`},
		{codec.CBOR, []*shortLogin{{1, "x"}}, `shortLogin.Hash (string) is left out by its tag "-"`},
		{codec.JSON, user{profile{1, map[string]int{"a": 1}}}, "user.Profile.cache (map[string]int) is unexported"},
		{codec.CBOR, []user{{profile{1, map[string]int{"a": 1}}}}, "user.Profile.cache"},
		{codec.JSON, any(map[string]any{"n": int64(12345678901234567)}), "is an interface"},
		{codec.JSON, map[string]any{"n": int64(12345678901234567)}, "is an interface"},
		{codec.CBOR, map[string]any{"n": 7}, "is an interface"},
		{codec.JSON, []error{errors.ErrUnsupported}, "[]error[] (error) is an interface"},
		{codec.JSON, handler{Done: func() {}}, "handler.Done (func()) is a func"},
		{codec.JSON, []chan int{make(chan int)}, "is a chan"},
		{codec.JSON, bothTimes(), "(time.Time) is a time in a key of a map"},
		{codec.CBOR, bothTimes(), "(time.Time) is a time in a key of a map"},
		{codec.CBOR, 1i, "is a complex128"},
		{codec.CBOR, uintptr(1), "is a uintptr"},
		{codec.JSON, map[[2]int]string{{1, 2}: "x"}, "[key] ([2]int) cannot be spelled"},
		{codec.JSON, map[*core]int{{1}: 1}, "is a ptr as the key"},
		{codec.CBOR, map[*core]int{{1}: 1}, "is a ptr as the key"},
		{codec.JSON, map[odd]int{1: 1}, "has MarshalText without UnmarshalText"},
		{codec.CBOR, odd(1), "has MarshalText without UnmarshalText"},
		{codec.JSON, *big.NewInt(7), "of its pointer"},
		{codec.JSON, map[string]big.Int{"a": *big.NewInt(7)}, "of its pointer"},
		{codec.JSON, embeds{time.Unix(1, 0).UTC(), "n"}, "leaves out Name"},
		{codec.JSON, map[embeds]int{{time.Unix(1, 0).UTC(), "n"}: 1}, "leaves out Name"},
		{codec.JSON, url.URL{User: url.User("ann")}, "URL.User.username"},
		{codec.JSON, hidesCommon{Common{1}, 2}, "hidesCommon.Common.ID (int) is hidden behind"},
		{codec.JSON, twice{Common{1}, Second{2}}, "twice.Second.ID (int) is hidden behind"},
		{codec.CBOR, twice{Common{1}, Second{2}}, "twice.Second.ID (int) is hidden behind"},
		{codec.JSON, hiddenPointer{&core{1}}, "is an embedded pointer to an unexported type"},
		{codec.CBOR, hiddenPointer{&core{1}}, "is an embedded pointer to an unexported type"},
		{codec.CBOR, jsonWay{"x"}, "jsonWay.s (string) is unexported"},
		{codec.Raw, 7, "is neither a string nor a []byte"},
		{codec.Raw, new("x"), "is neither a string nor a []byte"},
	}
	for _, tt := range tests {
		v := reflect.ValueOf(tt.value)
		err := codec.CheckerOf(tt.codec).Check(v.Type())
		e, ok := errors.AsType[*codec.TypeError](err)
		if !ok || !errors.Is(err, codec.ErrType) || !strings.Contains(err.Error(), tt.fault) || len(e.Faults) == 0 || e.Type != v.Type() {
			t.Errorf("%s: Check(%T) = %v, want an error about %q", tt.codec.ID(), tt.value, err, tt.fault)
		}
		if survives(tt.codec, v) {
			t.Errorf("%s refuses %T, and %+v survives", tt.codec.ID(), tt.value, tt.value)
		}
	}
}

// Check accepts common types, and their values come back equal.
func TestCheckAccepts(t *testing.T) {
	full := okTypes{
		core: core{1}, Titled: &Titled{}, Header: http.Header{"A": {"b"}}, Tree: &family{"a", []*family{{Name: "b"}}},
		ByAddr: map[netip.Addr][]time.Time{netip.MustParseAddr("::1"): {time.Unix(1, 5).UTC()}}, Pat: regexp.MustCompile("a+"),
	}
	for _, c := range []codec.Codec{codec.JSON, codec.CBOR} {
		for _, v := range []any{
			family{"a", []*family{{Name: "b"}}}, map[int][]string{1: {"a"}}, struct{}{}, "text", []byte("x"), onlyText{"x"},
			everyWay{"x"}, []*big.Int{big.NewInt(7)}, []big.Int{*big.NewInt(7)}, time.Unix(1, 5).UTC(), full, &full,
			map[level]int{"x": 1}, partyAt{time.Unix(1, 5).UTC()},
		} {
			if err := codec.CheckerOf(c).Check(reflect.TypeOf(v)); err != nil {
				t.Errorf("%s: Check(%T) = %v, want nil", c.ID(), v, err)
			}
			if !survives(c, reflect.ValueOf(v)) {
				t.Errorf("%s: %T does not survive", c.ID(), v)
			}
		}
	}
}

// The error names the remedies, and codec.CBOR only if it is one.
func TestCheckRemedies(t *testing.T) {
	text := fmt.Sprint(codec.CheckerOf(codec.JSON).Check(reflect.TypeFor[hidden]()))
	for _, want := range []string{"`json:\"-\"`", "MarshalJSON", "LocalOnly", "codec.Lossy"} {
		if !strings.Contains(text, want) {
			t.Errorf("error = %s, want %s in it", text, want)
		}
	}
	if strings.Contains(text, "codec.CBOR") {
		t.Errorf("error = %s, but CBOR loses the field, too", text)
	}
	if text := fmt.Sprint(codec.CheckerOf(codec.JSON).Check(reflect.TypeFor[map[[2]int]string]())); !strings.Contains(text, "codec.CBOR") {
		t.Errorf("error = %s, want codec.CBOR in it", text)
	}
	many := reflect.TypeFor[struct{ a, b, c, d, e, f, g int }]()
	if text := fmt.Sprint(codec.CheckerOf(codec.JSON).Check(many)); !strings.Contains(text, "and 2 more") {
		t.Errorf("error = %s, want five faults and the number of the others", text)
	}
}

// A codec that wraps another has the Checker of the inner one.
func TestCheckerOf(t *testing.T) {
	bad := reflect.TypeFor[func()]()
	for _, c := range []codec.Codec{codec.JSON, codec.Snappy(codec.JSON, 0), codec.Limit(codec.Deflate(codec.CBOR, 0), 9), codec.Limit(codec.Raw, 1)} {
		if k := codec.CheckerOf(c); k == nil || k.Check(bad) == nil {
			t.Errorf("%s: a func is accepted", c.ID())
		}
	}
	for _, c := range []codec.Codec{codec.Lossy(codec.JSON), codec.Snappy(codec.Lossy(codec.CBOR), 0), codec.Lossy(codec.Limit(codec.JSON, 9)), named{codec.JSON, "mine"}} {
		if codec.CheckerOf(c) != nil {
			t.Errorf("%s promises something", c.ID())
		}
	}
}

// Lossy changes only the promise.
func TestLossy(t *testing.T) {
	for _, c := range all() {
		l := codec.Lossy(c)
		if l.ID() != c.ID() {
			t.Errorf("ID = %s, want %s", l.ID(), c.ID())
		}
		data, err := codec.MarshalWithin(l, "text", 100)
		if err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(v any) error{
			"UnmarshalWithin": func(v any) error { return codec.UnmarshalWithin(l, data, v, 100, true) },
			"UnmarshalOwned":  func(v any) error { return codec.UnmarshalOwned(l, data, v) },
			"Unmarshal":       func(v any) error { return l.Unmarshal(data, v) },
		} {
			var s string
			if err := read(&s); err != nil || s != "text" {
				t.Errorf("%s: %s = %q, %v", c.ID(), name, s, err)
			}
		}
		if _, err := codec.MarshalWithin(l, "text", 3); !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("%s: MarshalWithin = %v, want ErrTooLarge", c.ID(), err)
		}
	}
}

// Integers of 17 digits in an any are exact with CBOR, and change with JSON. Both refuse an any
// in Check.
func TestBigIntegersInAny(t *testing.T) {
	const big = int64(12345678901234567)
	for _, tt := range []struct {
		codec codec.Codec
		want  any
	}{{codec.JSON, float64(big)}, {codec.CBOR, big}} {
		var back map[string]any
		if err := tt.codec.Unmarshal(mustMarshal(t, tt.codec, map[string]any{"n": big}), &back); err != nil || back["n"] != tt.want {
			t.Errorf("%s: %v (%T), %v, want %v", tt.codec.ID(), back["n"], back["n"], err, tt.want)
		}
		if codec.CheckerOf(tt.codec).Check(reflect.TypeFor[map[string]any]()) == nil {
			t.Errorf("%s: Check accepts an any", tt.codec.ID())
		}
	}
	raw := json.RawMessage("12345678901234567")
	var back json.RawMessage
	if err := codec.JSON.Unmarshal(mustMarshal(t, codec.JSON, raw), &back); err != nil || string(back) != string(raw) {
		t.Errorf("a RawMessage comes back as %s, %v", back, err)
	}
}
