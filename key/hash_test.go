package key_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/key"
)

// The published vectors. The id of a value is the SHA-256 of the text beside it. Both columns
// were computed outside Go. They never change: a new spelling would empty every cache, and two
// versions in one fleet would disagree.
func TestHashVectors(t *testing.T) {
	type query struct {
		Page int
		Org  string
	}
	const rfcNumbers, rfcString = `[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]`, "€$\u000f\nA'B\"\\\\\"/"
	tests := []struct {
		name      string
		value     any
		canonical string
		hash      string
	}{
		{"null", nil, `null`, "dCNOmK_nSY-12vHzasLXiswzlGT5UHA7jAGYkvmCuQs"},
		{"true", true, `true`, "tb6kG2xiP3wJ8b8k3K5Y66s8DN2QrZZrxDpFtEhn4Ss"},
		{"number", 42, `42`, "c0dctApWjo2ooEXO0RATfhWfiQrE2og7axfcZRs6gEk"},
		{"string", "42", `"42"`, "gzTFVMcnb1lnSBC5L_9Rl81Gv2zL6HJ0L5sEyjHf49E"},
		{"euro", "€", `"€"`, "M6s_GqqbWwbnVN7PTiQwJHfqw3FEkLu1h6S1aQPACQw"},
		{"array", [3]int{1, 2, 3}, `[1,2,3]`, "phXuruId5Red4IDejDBSyNqQEThAa6ccOMAyhF99VPQ"},
		{"empty struct", struct{}{}, `{}`, "RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o"},
		{"map", map[string]any{"b": "x", "a": 1}, `{"a":1,"b":"x"}`, "7PnpjsBkHiMRP_POi9x40N3SSYhlF_1Kf2jMg9TmVmc"},
		{"struct, sorted", query{2, "acme"}, `{"Org":"acme","Page":2}`, "g8DhZeROvfl2SpY7cSEx5pj6Ov5jZZcD7qU1KOLdQAs"},
		{"zero", 0.0, `0`, "X-zrZv_IbzjZUnhsbWlsecLbwjndTpG0ZynXOif7V-k"},
		{"negative zero equals zero", math.Copysign(0, -1), `0`, "X-zrZv_IbzjZUnhsbWlsecLbwjndTpG0ZynXOif7V-k"},
		{"fraction", 0.1, `0.1`, "FL5LRfGODYxntPcZtRRO7ohJfkE3CdEdhbCW2OI0YxA"},
		{"large double", 1e21, `1e+21`, "JBxGQ_pwsdzeEgW3G-TjvrsX6fiAyOGjPQ6tbCcnHTw"},
		{"2^53", int64(1) << 53, `9007199254740992`, "xoHaOdcnOmokwVycrDp1Um_y7Pi6TuYDRqDHDIFjvbI"},
		{"2^53+1", int64(1)<<53 + 1, `"\u0000int:9007199254740993"`, "5J-Isled5spWVdr9vNdD1VtqqP719OZ0PPY3PBgcrN4"},
		{"least int64", int64(math.MinInt64), `"\u0000int:-9223372036854775808"`, "ogxM-l_-wmVyeo6UbCjc73wGrH_EmMY3Q4HuEF4UgO0"},
		{"most uint64", uint64(math.MaxUint64), `"\u0000int:18446744073709551615"`, "rmGbRIghGAOyqllaNu0XcJFNy_s705hpkOyb1ndYYNc"},
		{
			"genuine string like a wide integer", "\x00int:9007199254740993",
			`"\u0000\u0000int:9007199254740993"`, "CCCUwnS97XPq4PzqA4Mq__vDebfonUFbXdS37atD5_c",
		},
		// RFC 8785, the samples of sections 3.2.2 and 3.2.3. Their first number is
		// 333333333.33333329, which Go never writes. This is the same double.
		{
			"RFC 8785 values",
			map[string]any{"numbers": []float64{333333333.33333329, 1e30, 4.50, 2e-3, 1e-27}, "string": rfcString, "literals": []any{nil, true, false}},
			"{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}",
			"LV4BoxjQ8IeatWjEviicix9k74khpTxid9XgaZeLqss",
		},
		{
			"RFC 8785 sorting",
			map[string]string{
				"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
				"\U0001f600": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis",
			},
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"\u00f6\":\"Latin Small Letter O With Diaeresis\"," +
				"\"\u20ac\":\"Euro Sign\",\"\U0001f600\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
			"XjIVVtIgGKllaZGp6U937BdfoZPlKiQp0xL4QZ7IsIw",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := key.Hash(tt.value)
			if err != nil || got != tt.hash {
				t.Errorf("Hash = %q, %v, want %q", got, err, tt.hash)
			}
			sum := sha256.Sum256([]byte(tt.canonical))
			if got := base64.RawURLEncoding.EncodeToString(sum[:]); got != tt.hash {
				t.Errorf("the vector contradicts itself: SHA-256 of the canonical text is %q", got)
			}
		})
	}
	if _, err := key.Hash(json.RawMessage(rfcNumbers)); !errors.Is(err, key.ErrNumber) {
		t.Errorf("Hash of a number a double would round = %v, want ErrNumber", err)
	}
}

// Each group holds values that a plain SHA-256 of RFC 8785 confuses, or almost confuses.
func TestHashTellsApart(t *testing.T) {
	type text struct {
		S string `json:",string"`
	}
	tests := []struct {
		name   string
		values []any
	}{
		{"integers round 2^53", []any{int64(1<<53 - 1), int64(1 << 53), int64(1<<53 + 1), int64(1<<53 + 2), uint64(1<<53 + 3), int64(-1<<53 - 1), int64(-1 << 53)}},
		{"integers near the ends", []any{int64(math.MaxInt64), int64(math.MaxInt64 - 1), uint64(math.MaxUint64), uint64(math.MaxUint64 - 1)}},
		{"wide integers and strings", []any{
			int64(1<<53 + 1), "9007199254740993", "int:9007199254740993", "\x00int:9007199254740993",
			"\x00\x00int:9007199254740993", "\x00", "\x00\x00", "", `\u0000int:9007199254740993`,
		}},
		{"beyond 64 bits", []any{new(big.Int).Lsh(big.NewInt(1), 70), new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 70), big.NewInt(1))}},
		{"nested", []any{[1]int64{1<<53 + 1}, [1]int64{1<<53 + 2}, map[string]int64{"a": 1<<53 + 1}, map[string]int64{"a": 1<<53 + 2}}},
		{"names with U+0000", []any{map[string]int{"\x00": 1}, map[string]int{"\x00\x00": 1}, map[string]int{"": 1}}},
		{"U+FFFD and its escape as text", []any{"\ufffd", `\ufffd`, `\\ufffd`, text{"\ufffd"}}},
		{"floats", []any{0.1, math.Nextafter(0.1, 1), float32(0.1) * 3, math.MaxFloat64, math.SmallestNonzeroFloat64, 5e-320}},
		{"order of an array", []any{[2]int{1, 2}, [2]int{2, 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen := make(map[string]int)
			for i, v := range tt.values {
				h, err := key.Hash(v)
				if err != nil {
					t.Fatalf("Hash(%v) = %v", v, err)
				}
				if j, dup := seen[h]; dup {
					t.Errorf("values %d and %d share the id %s", j, i, h)
				}
				seen[h] = i
			}
		})
	}
}

// refuser quotes a secret in its marshalling error.
type refuser struct{}

func (refuser) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON for s3cret") }

// twice marshals itself as its own text.
type twice string

func (j twice) MarshalJSON() ([]byte, error) { return []byte(j), nil }

func TestHashRefuses(t *testing.T) {
	type quoted struct {
		S string `json:",string"`
	}
	type cycle struct{ Next *cycle }
	ring := &cycle{}
	ring.Next = ring
	tests := []struct {
		name  string
		value any
		want  error
	}{
		{"nan", math.NaN(), key.ErrNumber},
		{"infinity in a struct", struct{ F float64 }{math.Inf(1)}, key.ErrNumber},
		{"float32 infinity", float32(math.Inf(-1)), key.ErrNumber},
		{"rounded", json.Number("0.10000000000000001"), key.ErrNumber},
		{"rounded, many digits", json.RawMessage(`[1.00000000000000000000000000000001]`), key.ErrNumber},
		{"underflow", json.Number("1e-400"), key.ErrNumber},
		{"overflow", json.Number("1e400"), key.ErrNumber},
		{"invalid utf-8", "a\xff", key.ErrUTF8},
		{"invalid utf-8 in a field", struct{ S string }{"\xc3"}, key.ErrUTF8},
		{"invalid utf-8 behind a backslash", `\` + "\xff", key.ErrUTF8},
		{"invalid utf-8 in a name", map[string]int{"\xff": 1}, key.ErrUTF8},
		{"invalid utf-8, quoted field", quoted{"\xff"}, key.ErrUTF8},
		{"invalid utf-8 from a marshaller", twice("\"\xff\""), key.ErrUTF8},
		{"half a surrogate pair", json.RawMessage(`"\ud800"`), key.ErrType},
		{"name twice", twice(`{"a":1,"a":2}`), key.ErrType},
		{"name twice, escaped", twice(`{"a":1,"\u0061":2}`), key.ErrType},
		{"channel", make(chan int), key.ErrType},
		{"complex", 1i, key.ErrType},
		{"cycle", ring, key.ErrType},
		{"marshaller fails", refuser{}, key.ErrType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := key.Hash(tt.value); !errors.Is(err, tt.want) || got != "" {
				t.Errorf("Hash = %q, %v, want %v", got, err, tt.want)
			}
		})
	}
}

// Two requests that differ only in a field without a JSON form must not share an id.
func TestHashRefusesDroppedFields(t *testing.T) {
	type message struct{ Role, text string }
	type private struct {
		Model string
		User  string `json:"-"`
	}
	type Base struct{ ID int }
	type shadow struct {
		Base
		ID int
	}
	type left struct{ Base }
	type right struct{ Base }
	type loop struct {
		N int
		*loop
	}
	type tree struct {
		Leaves []*tree
		Extra  any
	}
	type stamped struct {
		time.Time
		N int
	}
	type mixed struct {
		At   time.Time
		N    *big.Int
		All  []big.Int
		_    [0]func()
		none struct{}
		Base
		Raw json.RawMessage
	}
	type notCompared [0]func()
	type noN struct{ N struct{} }
	type someN struct{ N int }
	type amount struct {
		N     big.Int
		Extra any
	}
	tests := []struct {
		name  string
		value any
		path  string // in the error; "": accepted
	}{
		{"unexported", message{"user", "a"}, ".text: unexported"},
		{"behind a slice", struct{ Messages []message }{}, ".Messages[].text: unexported"},
		{"behind pointers", &[]*message{}, "[].text: unexported"},
		{"in a map", map[string]message{}, "[].text: unexported"},
		{"in an interface", map[string]any{"a": []any{1, &message{}}}, "message.text: unexported"},
		{"in an interface of a field", tree{Leaves: []*tree{{Extra: private{}}}}, `.User: left out of the JSON by its tag "-"`},
		{"excluded", private{"m", "ada"}, `.User: left out of the JSON by its tag "-"`},
		{"hidden", shadow{}, `.ID: JSON name "ID" is also that of`},
		{"hidden by each other", struct {
			left
			right
		}{}, `.ID: JSON name "ID" is also that of`},
		{"hidden by an empty field", struct {
			noN
			someN
		}{}, `.N: JSON name "N" is also that of`},
		{"embeds itself", loop{}, ""},
		{"marshals as its part", stamped{}, "the JSON may be that of the embedded time.Time"},
		{"methods of the pointer, by value", struct{ N big.Int }{}, ".N.neg: unexported"},
		{"methods of the pointer, by pointer", &struct{ N big.Int }{}, ""},
		{"methods of the pointer, in a slice beside an interface", []amount{{Extra: 1}}, ""},
		{"methods of the pointer, by value beside an interface", amount{}, ".N.neg: unexported"},
		{"zero by its own rule", struct {
			Z zeroish `json:",omitzero"`
		}{zeroish{0, 1}}, ".Z: omitzero leaves out"},
		{"a time that may be zero", struct {
			At time.Time `json:",omitzero"`
		}{}, ""},
		{"a pointer to a time that may be zero", struct {
			At *time.Time `json:",omitzero"`
		}{}, ""},
		{"only one value, embedded", struct {
			notCompared
			N int
		}{}, ""},
		{"no values of a type with fields", struct{ None [0]message }{}, ""},
		{"nothing is lost", mixed{}, ""},
		{"a tree", tree{Leaves: []*tree{{Extra: 1}, nil}, Extra: tree{}}, ""},
		{"nil", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := key.Hash(tt.value)
			switch {
			case tt.path == "" && err != nil:
				t.Errorf("Hash = %v, want an id", err)
			case tt.path != "" && (got != "" || !errors.Is(err, key.ErrType) || !strings.Contains(err.Error(), tt.path)):
				t.Errorf("Hash = %q, %v, want ErrType with %q", got, err, tt.path)
			}
		})
	}
}

func TestHashAcceptsExactNumbers(t *testing.T) {
	for _, n := range []string{"0.0", "-0", "0e5", "1e3", "1E+3", "1.50", "123456.789e-3", "1e-7", "5e-324", "1.7976931348623157e308", "100.00"} {
		if _, err := key.Hash(json.Number(n)); err != nil {
			t.Errorf("Hash(%s) = %v, want an id", n, err)
		}
	}
}

func TestHashKeepsTheCause(t *testing.T) {
	_, err := key.Hash(make(chan int))
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		t.Errorf("error = %v, want the json error in reach", err)
	}
}
