package key_test

import (
	"math"
	"testing"

	"github.com/twofold-go/twofold/key"
)

// Two accepted triples have the same spelling only if they are equal.
func FuzzInjective(f *testing.F) {
	f.Add("a", "b", "c", "a", "b", "c")
	f.Add("a", "b:c", "d", "a", "b", "c:d")
	f.Add("a", "b", "c", "a:b", "c", "d")
	f.Add("a", "b", "%3A", "a", "b", ":")
	f.Add("a", "b", "\xff", "a", "b", "%FF")
	f.Add("a", "b", "", "a", "b:", "x")
	f.Add("é", "用户:v1", "\u009b", "é", "用户", "v1")
	f.Fuzz(func(t *testing.T, t1, n1, id1, t2, n2, id2 string) {
		s1, s2 := key.Space{Tenant: t1, Namespace: n1}, key.Space{Tenant: t2, Namespace: n2}
		k1, err1 := s1.Key(key.Text(id1))
		k2, err2 := s2.Key(key.Text(id2))
		if err1 != nil || err2 != nil {
			return
		}
		same := s1 == s2 && id1 == id2
		if (k1 == k2) != same || (k1.String() == k2.String()) != same {
			t.Errorf("%q/%q and %q/%q: keys equal is %v, want %v", s1, id1, s2, id2, k1 == k2, same)
		}
		if same && k1.Hash() != k2.Hash() {
			t.Errorf("equal keys hash to %x and %x", k1.Hash(), k2.Hash())
		}
		if len(k1.String()) > key.MaxLen {
			t.Errorf("a key of %d bytes was accepted", len(k1.String()))
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a:b:c", "a:b:c:d", "::", "a::b", "a:b:", "a:b:%3A", "a:b:%3a", "{a}:b:c", "a:b:\xff", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := key.Parse(s)
		if err != nil {
			return
		}
		if k.String() != s {
			t.Errorf("Parse(%q).String() = %q", s, k)
		}
		if again, err := k.Space().Key(k.ID()); err != nil || again != k {
			t.Errorf("Parse(%q) = %q in parts makes %q, %v", s, k, again, err)
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "a:b", "%", "%25", "{}", "\xff", "é\xc3", "\x00", "\u009b\ufffd", "%C3%A9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		spelled := key.Text(s)
		if back, err := key.Unescape(spelled); err != nil || back != s {
			t.Errorf("Unescape(Text(%q)) = %q, %v", s, back, err)
		}
		if raw, err := key.Unescape(s); err == nil && key.Text(raw) != s {
			t.Errorf("Text(Unescape(%q)) = %q", s, key.Text(raw))
		}
	})
}

// hashed is a key with a field of every kind whose JSON is ambiguous.
type hashed struct {
	N int64
	U uint64 `json:",string"`
	F float64
	S string
	Q string `json:"q,string"`
}

func FuzzHashInjective(f *testing.F) {
	f.Add(int64(1<<53), uint64(1), 0.5, "a", "b", int64(1<<53+1), uint64(1), 0.5, "a", "b")
	f.Add(int64(0), uint64(1), 0.5, "\x00int:9007199254740993", "", int64(0), uint64(1), 0.5, "\x00\x00int:9007199254740993", "")
	f.Add(int64(0), uint64(1), 0.5, "\xff", "\xff", int64(0), uint64(1), 0.5, "\xfe", "\xfe")
	f.Add(int64(0), uint64(1), 0.0, "", "\xff", int64(0), uint64(1), math.Copysign(0, -1), "", "\ufffd")
	f.Add(int64(0), uint64(1), 1e20, `"`, `\ufffd`, int64(0), uint64(1), math.MaxFloat64, `\"`, `"\ufffd"`)
	f.Fuzz(func(t *testing.T, n1 int64, u1 uint64, f1 float64, s1, q1 string, n2 int64, u2 uint64, f2 float64, s2, q2 string) {
		k1, k2 := hashed{n1, u1, f1, s1, q1}, hashed{n2, u2, f2, s2, q2}
		h1, err1 := key.Of(k1)
		h2, err2 := key.Of(k2)
		if err1 == nil && err2 == nil && (h1 == h2) != (k1 == k2) {
			t.Errorf("%+v and %+v: ids equal is %v", k1, k2, h1 == h2)
		}
		if err1 == nil {
			if _, err := (key.Space{Tenant: "t", Namespace: "n"}).Key(h1); err != nil {
				t.Errorf("Key(Hash) = %v", err)
			}
		}
	})
}
