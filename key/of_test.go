package key_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/key"
)

// uuid is like the types of UUID packages: a byte array that marshals itself as text.
type uuid [16]byte

func (u uuid) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", u[:]), nil }

// id is a UUID as the packages for them have it: its text can be read back.
type id [16]byte

func (u id) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

func (u *id) UnmarshalText(b []byte) error {
	raw, err := hex.DecodeString(strings.ReplaceAll(string(b), "-", ""))
	if copy(u[:], raw) != len(u) && err == nil {
		err = errors.New("not 16 bytes")
	}
	return err
}

type (
	typedID  struct{ id }
	bareID   id // has no methods
	versions struct{ A, B id }
)

// folded has one text for many values.
type folded [2]byte

func (f folded) MarshalText() ([]byte, error)  { return bytes.ToLower(f[:]), nil }
func (f *folded) UnmarshalText(b []byte) error { copy(f[:], b); return nil }

// mute has no text, or one that it cannot read.
type mute [1]byte

func (m mute) MarshalText() ([]byte, error) {
	if m[0] == 0 {
		return nil, errors.New("secret")
	}
	return []byte{m[0]}, nil
}
func (*mute) UnmarshalText([]byte) error { return errors.New("secret") }

type (
	userID  int64
	slug    string
	flags   uint8
	meters  float64
	page    struct{ Org, Cursor string }
	digest  [4]byte
	inner   struct{ A int }
	address struct {
		netip.Addr
		Port int
	}
)

func TestOf(t *testing.T) {
	mustHash := func(v any) string {
		h, err := key.Hash(v)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	tests := []struct {
		name string
		of   func() (string, error)
		want string
	}{
		{"string", func() (string, error) { return key.Of("a:b") }, "a%3Ab"},
		{"named string", func() (string, error) { return key.Of(slug("a b")) }, "a%20b"},
		{"json.Number at the top is text", func() (string, error) { return key.Of(json.Number("1.0")) }, "1.0"},
		{"int", func() (string, error) { return key.Of(-7) }, "-7"},
		{"int8", func() (string, error) { return key.Of(int8(-128)) }, "-128"},
		{"int16", func() (string, error) { return key.Of(int16(7)) }, "7"},
		{"int32", func() (string, error) { return key.Of(int32(7)) }, "7"},
		{"int64", func() (string, error) { return key.Of(int64(math.MinInt64)) }, "-9223372036854775808"},
		{"named int", func() (string, error) { return key.Of(userID(42)) }, "42"},
		{"duration", func() (string, error) { return key.Of(time.Second) }, "1000000000"},
		{"uint", func() (string, error) { return key.Of(uint(7)) }, "7"},
		{"uint8", func() (string, error) { return key.Of(flags(255)) }, "255"},
		{"uint16", func() (string, error) { return key.Of(uint16(7)) }, "7"},
		{"uint32", func() (string, error) { return key.Of(uint32(7)) }, "7"},
		{"uint64", func() (string, error) { return key.Of(uint64(math.MaxUint64)) }, "18446744073709551615"},
		{"uintptr", func() (string, error) { return key.Of(uintptr(7)) }, "7"},
		{"bool", func() (string, error) { return key.Of(true) }, mustHash(true)},
		{"float", func() (string, error) { return key.Of(meters(1.5)) }, mustHash(1.5)},
		{"array", func() (string, error) { return key.Of(digest{1, 2}) }, mustHash([]int{1, 2, 0, 0})},
		{"struct", func() (string, error) { return key.Of(page{"acme", "x"}) }, mustHash(map[string]string{"Org": "acme", "Cursor": "x"})},
		{"netip.Addr", func() (string, error) { return key.Of(netip.MustParseAddr("10.0.0.1")) }, mustHash("10.0.0.1")},
		{"bytes whose text cannot be read", func() (string, error) { return key.Of(uuid{0x6b, 0xa7}) }, mustHash("6ba70000000000000000000000000000")},
		{"uuid", func() (string, error) { return key.Of(id{0x6b, 0xa7}) }, "6ba70000-0000-0000-0000-000000000000"},
		{"uuid of a type", func() (string, error) { return key.Of(typedID{id{15: 1}}) }, "00000000-0000-0000-0000-000000000001"},
		{"uuid without methods", func() (string, error) { return key.Of(bareID{1}) }, mustHash([16]int{1})},
		{"two uuids", func() (string, error) { return key.Of(versions{}) }, mustHash(versions{})},
		{"bytes that are their text", func() (string, error) { return key.Of(folded{'a', ':'}) }, "a%3A"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := tt.of(); got != tt.want || err != nil {
				t.Errorf("Of = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestOfRefuses(t *testing.T) {
	tests := []struct {
		name string
		of   func() (string, error)
		want error
	}{
		{"empty string", func() (string, error) { return key.Of("") }, key.ErrEmpty},
		{"empty named string", func() (string, error) { return key.Of(slug("")) }, key.ErrEmpty},
		{"nan", func() (string, error) { return key.Of(math.NaN()) }, key.ErrNumber},
		{"invalid utf-8 in a struct", func() (string, error) { return key.Of(page{"\xff", ""}) }, key.ErrUTF8},
		{"a text of two values", func() (string, error) { return key.Of(folded{'A', 'b'}) }, key.ErrType},
		{"no text", func() (string, error) { return key.Of(mute{}) }, key.ErrType},
		{"a text that is not read", func() (string, error) { return key.Of(mute{1}) }, key.ErrType},
		{"pointer", func() (string, error) { return key.Of(new(1)) }, key.ErrType},
		{"channel", func() (string, error) { return key.Of(make(chan int)) }, key.ErrType},
		{"complex", func() (string, error) { return key.Of(1i) }, key.ErrType},
		{"nil interface", func() (string, error) { return key.Of[any](nil) }, key.ErrType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := tt.of(); !errors.Is(err, tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("Of = %q, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestHashes(t *testing.T) {
	for name, tt := range map[string]struct{ got, want bool }{
		"string": {key.Hashes[slug](), false}, "int": {key.Hashes[userID](), false}, "uint": {key.Hashes[uintptr](), false},
		"uuid": {key.Hashes[id](), false}, "uuid of a type": {key.Hashes[typedID](), false},
		"uuid without methods": {key.Hashes[bareID](), true}, "a text that cannot be read": {key.Hashes[uuid](), true},
		"two uuids": {key.Hashes[versions](), true}, "struct": {key.Hashes[page](), true}, "bool": {key.Hashes[bool](), true},
		"float": {key.Hashes[meters](), true}, "netip.Addr": {key.Hashes[netip.Addr](), true}, "array": {key.Hashes[digest](), true},
	} {
		if tt.got != tt.want {
			t.Errorf("Hashes of %s = %v, want %v", name, tt.got, tt.want)
		}
	}
}

func TestOfAllocations(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   func()
		want float64
	}{
		{"plain string", func() { _, _ = key.Of("user-42") }, 0},
		{"small int", func() { _, _ = key.Of(42) }, 0},
		{"int64", func() { _, _ = key.Of(int64(1234567)) }, 1}, // the digits
		{"named int", func() { _, _ = key.Of(userID(42)) }, 0},
	} {
		if got := testing.AllocsPerRun(100, tt.of); got > tt.want {
			t.Errorf("Of %s allocates %v times, want %v", tt.name, got, tt.want)
		}
	}
}

// byPointer marshals itself only if it is addressable, and a key is not.
type byPointer struct{ a int }

func (*byPointer) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type zeroish struct{ A, B int }

func (z zeroish) IsZero() bool { return z.A == 0 }

type onlyAddr struct{ netip.Addr }

type stamped struct {
	time.Time
	ID int
}

type onlyTime struct{ time.Time }

func TestCheckType(t *testing.T) {
	type embedding struct {
		inner
		B int
	}
	tests := []struct {
		name  string
		check func() error
		want  []string // path: reason; none: accepted
	}{
		{"string", key.CheckType[string], nil},
		{"named int", key.CheckType[userID], nil},
		{"uintptr", key.CheckType[uintptr], nil},
		{"json.Number at the top is text", key.CheckType[json.Number], nil},
		{"bool", key.CheckType[bool], nil},
		{"float", key.CheckType[meters], nil},
		{"struct", key.CheckType[page], nil},
		{"byte array", key.CheckType[[16]byte], nil},
		{"uuid", key.CheckType[uuid], nil},
		{"netip.Addr", key.CheckType[netip.Addr], nil},
		{"netip.Prefix in an array", key.CheckType[[2]netip.Prefix], nil},
		{"marshaller embedded alone", key.CheckType[onlyAddr], nil},
		{"embedded fields", key.CheckType[embedding], nil},
		{"omitempty", key.CheckType[struct {
			A int    `json:",omitempty"`
			B string `json:"b,omitzero"`
			C int64  `json:"c,string"`
		}], nil},
		{"tag that names -", key.CheckType[struct {
			A int `json:"-,"` //nolint:staticcheck // SA5008: the odd tag is the case
		}], nil},
		{"blank field", key.CheckType[struct {
			_ int
			A int
		}], nil},
		{"field of one value", key.CheckType[struct {
			noCopy struct{}
			A      int
		}], nil},

		{"any", key.CheckType[any], []string{"interface {}: an interface"}},
		{"pointer", key.CheckType[*int], []string{"*int: a ptr"}},
		{"channel", key.CheckType[chan int], []string{"chan int: a chan"}},
		{"unsafe pointer", key.CheckType[unsafe.Pointer], []string{"unsafe.Pointer: a unsafe.Pointer"}},
		{"complex", key.CheckType[complex128], []string{"complex128: a complex128"}},
		{"array of pointers", key.CheckType[[2]*int], []string{"[2]*int[]: a ptr"}},
		{"time", key.CheckType[time.Time], []string{"time.Time: unequal time.Time"}},
		{"time field", key.CheckType[struct{ At time.Time }], []string{".At: unequal time.Time"}},
		{"time embedded alone", key.CheckType[onlyTime], []string{"key_test.onlyTime.Time: unequal time.Time"}},
		{"time embedded", key.CheckType[stamped], []string{"key_test.stamped: the JSON may be that of the embedded time.Time alone"}},
		{"marshaller embedded", key.CheckType[address], []string{"key_test.address: the JSON may be that of the embedded netip.Addr"}},
		{"two marshallers embedded", key.CheckType[struct {
			netip.Addr
			netip.Prefix
		}], []string{".Addr.addr: unexported", ".Addr.z: unexported", ".Prefix.ip: unexported", ".Prefix.bitsPlusOne: unexported"}},
		{"json.Number", key.CheckType[struct{ N json.Number }], []string{".N: unequal json.Number"}},
		{"unexported", key.CheckType[struct{ a int }], []string{".a: unexported"}},
		{"marshals by pointer", key.CheckType[byPointer], []string{".a: unexported"}},
		{"tag -", key.CheckType[struct {
			A int `json:"-"`
		}], []string{`.A: left out of the JSON by its tag "-"`}},
		{"same name", key.CheckType[struct {
			A int `json:"B"`
			B int
		}], []string{`.B: JSON name "B" is also that of`}},
		{"same name behind a tag that JSON ignores", key.CheckType[struct {
			A int `json:"x\\"` //nolint:staticcheck // SA5008: the odd tag is the case
			B int `json:"A"`
		}], []string{`.B: JSON name "A" is also that of`}},
		{"same name but for case", key.CheckType[struct{ ID, Id int }], []string{`.Id: JSON name "Id" is also that of`}},
		{"shadowed by the outer struct", key.CheckType[struct {
			inner
			A int
		}], []string{`.A: JSON name "A" is also that of`}},
		{"embedded pointer", key.CheckType[struct{ *inner }], []string{".inner: unexported"}},
		{"embedded, tagged, unexported", key.CheckType[struct {
			inner `json:"x"`
		}], []string{".inner: unexported"}},
		{"embedded interface", key.CheckType[struct{ json.Marshaler }], []string{".Marshaler: an interface"}},
		{"omitzero with IsZero", key.CheckType[struct {
			Z zeroish `json:",omitzero"`
		}], []string{".Z: omitzero leaves out"}},
		{"every fault", key.CheckType[struct {
			A *int
			B struct{ c any }
			D [1]chan int
		}], []string{".A: a ptr", ".B.c: unexported", ".D[]: a chan"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.check()
			if len(tt.want) == 0 {
				if err != nil {
					t.Errorf("CheckType = %v, want nil", err)
				}
				return
			}
			if !errors.Is(err, key.ErrType) {
				t.Fatalf("CheckType = %v, want ErrType", err)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n != len(tt.want) {
				t.Errorf("%d faults, want %d: %v", n, len(tt.want), err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("no %q in:\n%v", w, err)
				}
			}
		})
	}
}
