package logwire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func keyOf(t testing.TB, id string) invalidate.Scope {
	t.Helper()
	k, err := key.Space{Tenant: "acme", Namespace: "users:v1"}.Key(key.Text(id))
	if err != nil {
		t.Fatal(err)
	}
	return invalidate.Key(k)
}

func fencesOf(soft bool, scopes ...invalidate.Scope) (fences []invalidate.Fence) {
	for _, s := range scopes {
		fences = append(fences, invalidate.Fence{Scope: s, Soft: soft})
	}
	return fences
}

// Other programs write and read these bytes.
func TestGolden(t *testing.T) {
	t.Parallel()
	scopes := []invalidate.Scope{
		keyOf(t, "42"), invalidate.Prefix("acme", "users:v1:"), invalidate.Tenant("acme"),
		invalidate.Tag("acme", "org:7"), invalidate.All(),
	}
	for want, a := range map[string]invalidate.Append{
		"k acme:users:v1:42": {Keys: fencesOf(false, scopes[0])},
		"k acme:users:v1:42\nk acme:users:v1:%0Aé%20\\\\": {Keys: fencesOf(false, scopes[0], keyOf(t, "\né \\"))},
		"p acme:users:v1:\np acme:\nt acme:org:7\na":      {Scopes: fencesOf(false, scopes[1:]...)},
		"k~ acme:users:v1:42\np~ acme:users:v1:\np~ acme:\nt~ acme:org:7\na~": {
			Scopes: fencesOf(true, scopes...),
		},
		`t acme:a b\x0a\x7f世界\\x0a` + "\np acme:caf\\xc3\nt a\\x00\\xff~:x\x20": {Scopes: fencesOf(false,
			invalidate.Tag("acme", "a b\n\x7f世界\\x0a"), invalidate.Prefix("acme", "caf\xc3"), invalidate.Tag("a\x00\xff~", "x "))},
	} {
		keys, scopes, err := logwire.Payloads(a)
		if got := keys + scopes; err != nil || got != want {
			t.Errorf("Payloads(%v) = %q, %v; want %q", a, got, err, want)
		}
		fences := slices.Concat(a.Keys, a.Scopes)
		if got, ok := logwire.Decode(want, a.Keys != nil); !ok || !slices.Equal(got, fences) {
			t.Errorf("Decode(%q) = %v, %v; want %v", want, got, ok, fences)
		}
		if got, ok := logwire.Decode(want, a.Keys == nil); ok {
			t.Errorf("Decode(%q) = %v in the other sequence", want, got)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "\n", "a\n", "\na", "a\n\na", "a ", "a x", "a~ ", "a~~", "A", "x acme:users:1", "- acme:users:1", "t", "t ", "t acme", "t :x", "t acme:",
		"tacme:x", "t  acme:x\r\n", "~t acme:x", "t ~acme:x\x00", "t acme:\xff", "t acme:\t", `t acme:\`, `t acme:\n`, `t acme:\x`, `t acme:\x0`,
		`t acme:\x0A`, `t acme:\x41`, `t acme:\xg0`, `t acme:\xc3\xa9`, `t acme:\xff`, "p", "p acme", "p :users", "p acme:\n",
		"t acme:" + strings.Repeat("x", invalidate.MaxTagLen+1), "p acme:" + strings.Repeat("x", key.MaxLen),
		"t " + strings.Repeat("x", key.MaxLen+1) + ":x", "k~ acme:users", "k~ acme:users:", "k~ acme:users:a b", "k~ acme:us{ers:1",
		"k~ acme:users:" + strings.Repeat("x", key.MaxLen), strings.Repeat("a\n", invalidate.MaxFences) + "a",
		strings.Repeat("p acme:"+strings.Repeat("x", 1000)+"\n", 1100) + "a",
	} {
		if got, ok := logwire.Decode(bad, false); ok {
			t.Errorf("Decode(%.60q) = %.60v, want nothing", bad, got)
		}
	}
	if got, ok := logwire.Decode(strings.Repeat("a\n", invalidate.MaxFences-1)+"a", false); !ok || len(got) != invalidate.MaxFences {
		t.Errorf("MaxFences decode as %d, %v", len(got), ok)
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	tag := invalidate.Tag("acme", "x")
	for name, a := range map[string]invalidate.Append{
		"a tag among keys":        {Keys: fencesOf(false, tag)},
		"a key among scopes":      {Scopes: fencesOf(false, keyOf(t, "1"))},
		"a soft key among keys":   {Keys: fencesOf(true, keyOf(t, "1"))},
		"no scope":                {Scopes: make([]invalidate.Fence, 1)},
		"the zero key":            {Keys: fencesOf(false, invalidate.Key(key.Key{}))},
		"a tag that is too long":  {Scopes: fencesOf(false, tag, invalidate.Tag("acme", strings.Repeat("x", invalidate.MaxTagLen+1)))},
		"a tenant too long":       {Scopes: fencesOf(false, invalidate.Tag(strings.Repeat("x", key.MaxLen+1), "x"))},
		"more than MaxFences":     {Scopes: fencesOf(false, slices.Repeat([]invalidate.Scope{tag}, invalidate.MaxFences+1)...)},
		"texts of more than 1MiB": {Keys: fencesOf(false, slices.Repeat([]invalidate.Scope{keyOf(t, strings.Repeat("x", 1000))}, 1100)...)},
	} {
		if keys, scopes, err := logwire.Payloads(a); err == nil || keys+scopes != "" {
			t.Errorf("%s: Payloads = %.60q, %v; want an error", name, keys+scopes, err)
		}
	}
}

// Each part that Split returns is a record, and together they are the fences.
func TestSplit(t *testing.T) {
	t.Parallel()
	var long, short, mixed []invalidate.Scope
	for i := range 3 * invalidate.MaxFences {
		long = append(long, invalidate.Tag("acme", fmt.Sprintf("%0*d", invalidate.MaxTagLen, i)))
		short = append(short, invalidate.Tag("acme", fmt.Sprint(i)))
		mixed = append(mixed, long[i], short[i])
	}
	for _, tt := range []struct {
		scopes []invalidate.Scope
		least  int
	}{{nil, 0}, {short[:1], 1}, {short, 3}, {long, 4}, {mixed, 6}} {
		rest, all, n := fencesOf(false, tt.scopes...), 0, 0
		for ; len(rest) > 0; n++ {
			var now []invalidate.Fence
			if now, rest = logwire.Split(rest); len(now) == 0 {
				t.Fatal("Split splits off nothing")
			}
			if err := logwire.Check(now, false); err != nil {
				t.Errorf("part %d: %v", n, err)
			}
			for i, f := range now {
				if f.Scope != tt.scopes[all+i] {
					t.Fatalf("part %d begins with %v, want %v", n, f, tt.scopes[all])
				}
			}
			all += len(now)
		}
		if all != len(tt.scopes) || n < tt.least || n > tt.least+1 {
			t.Errorf("%d fences in %d parts, want %d in %d", all, n, len(tt.scopes), tt.least)
		}
	}
}

// A record of one key takes its text and two bytes. Writing it allocates the payload, and reading it the
// list of fences.
func TestCost(t *testing.T) {
	f := fencesOf(false, keyOf(t, "4200001"))
	payload := logwire.Encode(f)
	if text := f[0].Scope.Text(); len(text) != 21 || len(payload) != 23 {
		t.Errorf("%q takes %d bytes for a key of %d", payload, len(payload), len(text))
	}
	if n := testing.AllocsPerRun(100, func() { logwire.Encode(f) }); n != 1 {
		t.Errorf("Encode allocates %v times, want once", n)
	}
	for _, payload := range []string{payload, "t acme:org:7", "a"} {
		if n := testing.AllocsPerRun(100, func() { logwire.Decode(payload, payload[0] == 'k') }); n != 1 {
			t.Errorf("Decode(%q) allocates %v times, want once", payload, n)
		}
	}
}

// A payload either does not decode, or is exactly what Encode makes of the fences.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"k acme:users:v1:42", "k acme:users:v1:%0Aé\nk~ acme:users:1", "p acme:\np~ acme:users:v1:4\nt acme:a\\\\b\nt~ acme:c\\x0a", "a", "a~\na",
		"p acme:caf\\xc3", "t acme:\\xc3\\xa9", "\n", "k ", "t a:\xff",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, payload string, keys bool) {
		fences, ok := logwire.Decode(payload, keys)
		if !ok {
			return
		}
		if err := logwire.Check(fences, keys); err != nil {
			t.Errorf("Decode(%q) = %v: %v", payload, fences, err)
		}
		if again := logwire.Encode(fences); again != payload {
			t.Errorf("Encode(%v) = %q, want %q", fences, again, payload)
		}
	})
}

// Every valid scope comes back.
func FuzzEncode(f *testing.F) {
	f.Add("acme", "users:v1:42", false)
	f.Add("a\n", "\\x0a\xff\x00", true)
	f.Add("~", "", true)
	f.Fuzz(func(t *testing.T, tenant, text string, soft bool) {
		scopes := []invalidate.Scope{invalidate.All()}
		for _, s := range []invalidate.Scope{invalidate.Tag(tenant, text), invalidate.Prefix(tenant, text), invalidate.Tenant(tenant)} {
			if s.Validate() == nil {
				scopes = append(scopes, s)
			}
		}
		want := fencesOf(soft, scopes...)
		got, ok := logwire.Decode(logwire.Encode(want), false)
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%v comes back as %v, %v", want, got, ok)
		}
		k, err := key.Space{Tenant: tenant, Namespace: "n"}.Key(key.Text(text))
		if err != nil {
			return
		}
		want = fencesOf(soft, invalidate.Key(k))
		if got, ok := logwire.Decode(logwire.Encode(want), !soft); !ok || !slices.Equal(got, want) {
			t.Errorf("%v comes back as %v, %v", want, got, ok)
		}
	})
}
