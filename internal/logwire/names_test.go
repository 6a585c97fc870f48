package logwire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func keyOf(t testing.TB, id string) invalidate.Scope {
	t.Helper()
	k, err := key.Space{Tenant: "acme", Namespace: "users:v1"}.Key(id)
	if err != nil {
		t.Fatal(err)
	}
	return invalidate.Key(k)
}

// record returns the names and the fences of a record.
func record(scopes ...invalidate.Scope) (string, []invalidate.Fence) {
	names := logwire.Names{}
	var fences []invalidate.Fence
	for _, s := range scopes {
		names.Add(s)
		fences = append(fences, s.Fence())
		if b, ok := s.BuiltFence(); ok {
			fences = append(fences, b)
		}
	}
	return names.Spell(fences), fences
}

func wantRead(t *testing.T, names string, fences []invalidate.Fence, unnamed int, want ...invalidate.Scope) {
	t.Helper()
	got, n := logwire.Read(names, fences)
	if !slices.Equal(got, want) || n != unnamed {
		t.Errorf("Read(%.60q) = %v, %d unnamed; want %v, %d", names, got, n, want, unnamed)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range []invalidate.Scope{
		keyOf(t, "42"), keyOf(t, strings.Repeat("x", 300)), keyOf(t, "é世界"),
		invalidate.Tag("acme", "team:7"), invalidate.Tag("acme", ":"),
		invalidate.Prefix("acme", "users:v1:"), invalidate.Prefix("acme", "users:v1:4"), invalidate.Tenant("acme"),
		invalidate.Prefix("acme", "caf\xc3"), // it may end within a character
		invalidate.All(),
	} {
		names, fences := record(s)
		wantRead(t, names, fences, 0, s)
		for i := range fences { // Expire has the same names
			fences[i].Soft = true
		}
		wantRead(t, names, fences, 0, s)
	}
	names, fences := record(keyOf(t, "1"), invalidate.Tag("acme", "x"), keyOf(t, "2"))
	wantRead(t, names, fences, 0, keyOf(t, "1"), invalidate.Tag("acme", "x"), keyOf(t, "2"))
	wantRead(t, names, append(fences, fences[0]), 0, keyOf(t, "1"), invalidate.Tag("acme", "x"), keyOf(t, "2"))
}

// A fence may come without a name, from a process that sends none.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	_, fences := record(keyOf(t, "1"), invalidate.Prefix("acme", "u"), invalidate.All())
	wantRead(t, "", fences, 2, invalidate.All())
	names, _ := record(keyOf(t, "1"))
	wantRead(t, names, fences, 1, invalidate.All(), keyOf(t, "1"))
	wantRead(t, "", nil, 0)
}

// Names that the record's fences do not have, and those that are no valid scopes, are ignored. Later
// names count.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	good, fences := record(keyOf(t, "1"), invalidate.Tag("acme", "x"))
	other, _ := record(keyOf(t, "2"), invalidate.Tag("acme", "y"), invalidate.Tag("evil", "x"), invalidate.Tenant("acme"))
	want := []invalidate.Scope{keyOf(t, "1"), invalidate.Tag("acme", "x")}
	wantRead(t, other, fences, 2)
	wantRead(t, other+good+other+good, fences, 0, want...)
	for _, bad := range []string{
		"z\x03abc", "k\x00", "t\x00", "p\x00", "k\x04acme", "k\x02::", "t\x02::", "t\x05acme:", "p\x01:", "k\x05a:b\xff\xfe",
		"t\x07acme:\xff\xfe", "t\x89\x04acme:" + strings.Repeat("x", 516),
	} {
		wantRead(t, bad, fences, 2)
		wantRead(t, bad+good, fences, 0, want...)
	}
	for _, cut := range []string{"k", "k\xff", "k\x05acme", "k\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "k" + strings.Repeat("\xff", 30)} {
		wantRead(t, cut, fences, 2)
		wantRead(t, good+cut, fences, 0, want...)
	}
	// A key and a tag with the same spelling are different scopes.
	k, err := key.Parse("acme:users:1")
	if err != nil {
		t.Fatal(err)
	}
	tag, _ := record(invalidate.Tag("acme", "users:1"))
	_, fences = record(invalidate.Key(k))
	wantRead(t, tag, fences, 1)
	// An invalid scope whose fence is in the record.
	long := invalidate.Tag("acme", strings.Repeat("x", invalidate.MaxTagLen+1))
	names, fences := record(long)
	wantRead(t, names, fences, 1)
}

// What does not fit is left out, and the rest stays.
func TestMaxNames(t *testing.T) {
	t.Parallel()
	names, many := logwire.Names{}, []invalidate.Scope{}
	var fences []invalidate.Fence
	for i := range invalidate.MaxNames / 100 {
		many = append(many, keyOf(t, strings.Repeat("x", 100+i%7)+string(rune('A'+i%26))+string(rune('a'+i/26))))
		names.Add(many[i])
		fences = append(fences, many[i].Fence())
	}
	text := names.Spell(fences)
	if len(text) > invalidate.MaxNames || len(text) < invalidate.MaxNames-100 {
		t.Errorf("names of %d bytes, want almost %d", len(text), invalidate.MaxNames)
	}
	got, unnamed := logwire.Read(text, fences)
	if len(got)+unnamed != len(many) || unnamed == 0 {
		t.Errorf("read %d names, %d unnamed, of %d scopes", len(got), unnamed, len(many))
	}
}

// A process whose log keeps no names spells none and allocates nothing.
func TestNoNames(t *testing.T) {
	s := invalidate.Tag("acme", "x")
	fences := []invalidate.Fence{s.Fence()}
	var names logwire.Names
	if n := testing.AllocsPerRun(100, func() {
		names.Add(s)
		if names.Spell(fences) != "" {
			t.Error("nil Names spell something")
		}
		if _, unnamed := logwire.Read("", fences); unnamed != 1 {
			t.Error("a fence without names has one")
		}
	}); n != 0 {
		t.Errorf("%v allocations without names, want none", n)
	}
}

func FuzzRead(f *testing.F) {
	names, _ := record(keyOf(f, "1"), invalidate.Tag("acme", "x"), invalidate.Prefix("acme", "u"))
	f.Add(names)
	f.Add("k\xff")
	f.Fuzz(func(t *testing.T, names string) {
		_, fences := record(keyOf(t, "1"), invalidate.Tag("acme", "x"), invalidate.Prefix("acme", "u"))
		scopes, unnamed := logwire.Read(names, fences)
		if len(scopes)+unnamed != 3 {
			t.Errorf("%d scopes and %d unnamed, want 3 in all", len(scopes), unnamed)
		}
		for _, s := range scopes {
			if err := s.Validate(); err != nil || !slices.Contains(fences, s.Fence()) {
				t.Errorf("read %v: %v, of fences %v", s, err, fences)
			}
		}
	})
}
