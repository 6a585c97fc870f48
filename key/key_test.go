package key_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/key"
)

func TestSpaceValidate(t *testing.T) {
	long := strings.Repeat("n", key.MaxLen)
	tests := []struct {
		name, tenant, namespace string
		want                    error
		field                   string
	}{
		{"plain", "acme", "users", nil, ""},
		{"version", "acme", "users:v1", nil, ""},
		{"path", "acme", "llm:chat:v1", nil, ""},
		{"not ASCII", "ácmé", "用户", nil, ""},
		{"odd but harmless", "a b*?[", "u%s/er", nil, ""},
		{"longest", "t", long[:key.MaxLen-4], nil, ""},

		{"no tenant", "", "users", key.ErrEmpty, "tenant"},
		{"no namespace", "acme", "", key.ErrEmpty, "namespace"},
		{"colon in tenant", "acme:users", "v1", key.ErrSeparator, "tenant"},
		{"leading colon", "acme", ":users", key.ErrSeparator, "namespace"},
		{"trailing colon", "acme", "users:", key.ErrSeparator, "namespace"},
		{"empty segment", "acme", "users::v1", key.ErrSeparator, "namespace"},
		{"colon alone", "acme", ":", key.ErrSeparator, "namespace"},
		{"brace in tenant", "{acme}", "users", key.ErrCharacter, "tenant"},
		{"brace in namespace", "acme", "users}", key.ErrCharacter, "namespace"},
		{"newline", "acme\n", "users", key.ErrCharacter, "tenant"},
		{"nul", "acme", "us\x00ers", key.ErrCharacter, "namespace"},
		{"del", "acme\x7f", "users", key.ErrCharacter, "tenant"},
		{"c1 control", "acme\u009b", "users", key.ErrCharacter, "tenant"},
		{"not utf-8", "acme", "users\xff", key.ErrUTF8, "namespace"},
		{"too long", "t", long[:key.MaxLen-3], key.ErrTooLong, "tenant and namespace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := key.Space{Tenant: tt.tenant, Namespace: tt.namespace}
			err := s.Validate()
			wantError(t, err, tt.want, tt.field)
			if _, kerr := s.Key("1"); !errors.Is(kerr, tt.want) {
				t.Errorf("Key(1) = %v, want what Validate says: %v", kerr, tt.want)
			}
		})
	}
}

// wantError checks the sentinel and that the text names the field.
func wantError(t *testing.T, err, want error, field string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %v", err, want)
	}
	if err != nil && !strings.Contains(err.Error(), ": "+field) {
		t.Errorf("error = %q, want the field %q in it", err, field)
	}
}

func TestErrorsHoldNoPayload(t *testing.T) {
	const secret = "s3cret"
	var errs []error
	for _, s := range []key.Space{
		{Tenant: secret + ":", Namespace: "n"},
		{Tenant: secret + "{", Namespace: "n"},
		{Tenant: "t", Namespace: secret + "\xff"},
		{Tenant: "t", Namespace: strings.Repeat(secret, 999)},
	} {
		errs = append(errs, s.Validate())
	}
	_, err := key.Space{Tenant: "t", Namespace: "n"}.Key(secret + ":")
	errs = append(errs, err)
	_, err = key.Unescape(secret + "%zz")
	errs = append(errs, err)
	_, err = key.Parse(secret)
	errs = append(errs, err)
	_, err = key.Hash(refuser{})
	errs = append(errs, err)
	_, err = key.Hash(map[string]any{secret: "\xff"})
	errs = append(errs, err)
	_, err = key.Hash(twice(`{"` + secret + `":1,"` + secret + `":2}`))
	errs = append(errs, err)
	for i, err := range errs {
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error %d = %v, want one without the value", i, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "key: ") {
			t.Errorf("error %d = %q, want the package's name in front", i, err)
		}
	}
}

func TestSpaceKey(t *testing.T) {
	space := key.Space{Tenant: "acme", Namespace: "users:v1"}
	room := key.MaxLen - len(space.Prefix())
	tests := []struct {
		name, id string
		want     error
	}{
		{"number", key.Int(42), nil},
		{"negative", key.Int(-1), nil},
		{"text", key.Text("a:b c%"), nil},
		{"not ASCII", key.Text("ключ"), nil},
		{"invalid utf-8, escaped", key.Text("\xff"), nil},
		{"longest", strings.Repeat("i", room), nil},

		{"empty", "", key.ErrEmpty},
		{"raw colon", "a:b", key.ErrEscape},
		{"raw space", "a b", key.ErrEscape},
		{"raw brace", "{a}", key.ErrEscape},
		{"raw percent", "100%", key.ErrEscape},
		{"lower-case escape", "%3a", key.ErrEscape},
		{"needless escape", "%41", key.ErrEscape},
		{"escaped rune", "%C3%A9", key.ErrEscape},
		{"invalid utf-8", "\xff", key.ErrEscape},
		{"too long", strings.Repeat("i", room+1), key.ErrTooLong},
		{"far too long", strings.Repeat("%", 1<<20), key.ErrTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, err := space.Key(tt.id)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Key(%d bytes) error = %v, want %v", len(tt.id), err, tt.want)
			}
			if tt.want != nil {
				if k != (key.Key{}) {
					t.Errorf("Key = %q beside an error, want the zero Key", k)
				}
				return
			}
			if k.String() != "acme:users:v1:"+tt.id || k.Space() != space || k.ID() != tt.id {
				t.Errorf("Key = %q in %q with id %q", k, k.Space(), k.ID())
			}
			if k.Hash() != xxhash.Sum64String(k.String()) {
				t.Errorf("Hash() = %x, want the XXH64 of the string", k.Hash())
			}
			if back, err := key.Parse(k.String()); back != k || err != nil {
				t.Errorf("Parse(String()) = %q, %v, want %q", back, err, k)
			}
		})
	}
}

func TestSpaceSpelling(t *testing.T) {
	s := key.Space{Tenant: "acme", Namespace: "users:v1"}
	if s.String() != "acme:users:v1" || s.Prefix() != "acme:users:v1:" {
		t.Errorf("String, Prefix = %q, %q", s.String(), s.Prefix())
	}
}

func TestZeroKey(t *testing.T) {
	var k key.Key
	if k.String() != "" || k.ID() != "" || k.Space() != (key.Space{}) {
		t.Errorf("zero Key = %q, %q, %v, want nothing", k.String(), k.ID(), k.Space())
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, in string
		want     error
	}{
		{"plain", "acme:users:1", nil},
		{"deep namespace", "acme:a:b:c:1", nil},
		{"empty", "", key.ErrSeparator},
		{"one part", "acme", key.ErrSeparator},
		{"two parts", "acme:users", key.ErrSeparator},
		{"no tenant", ":users:1", key.ErrEmpty},
		{"no namespace", "acme::1", key.ErrEmpty},
		{"no id", "acme:users:", key.ErrEmpty},
		{"empty segment", "acme:users::v1:1", key.ErrSeparator},
		{"bad id", "acme:users:a b", key.ErrEscape},
		{"bad tenant", "{acme}:users:1", key.ErrCharacter},
		{"too long", "acme:users:" + strings.Repeat("1", key.MaxLen), key.ErrTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, err := key.Parse(tt.in)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Parse error = %v, want %v", err, tt.want)
			}
			if tt.want == nil && k.String() != tt.in {
				t.Errorf("Parse = %q, want %q", k, tt.in)
			}
		})
	}
}

func TestText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "user-42_a.b/c", "user-42_a.b/c"},
		{"empty", "", ""},
		{"colon", "a:b", "a%3Ab"},
		{"percent", "100%", "100%25"},
		{"looks escaped", "%3A", "%253A"},
		{"braces", "{tag}", "%7Btag%7D"},
		{"space", "a b", "a%20b"},
		{"controls", "\x00\t\n\x1f\x7f", "%00%09%0A%1F%7F"},
		{"runes stay", "é用户😀", "é用户😀"},
		{"genuine U+FFFD stays", "\ufffd", "\ufffd"},
		{"invalid utf-8", "a\xffb", "a%FFb"},
		{"half a rune", "\xc3", "%C3"},
		{"surrogate half", "\xed\xa0\x80", "%ED%A0%80"},
		{"everything at once", ":é\xff ", "%3Aé%FF%20"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := key.Text(tt.in); got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got, err := key.Unescape(tt.want); got != tt.in || err != nil {
				t.Errorf("Unescape(%q) = %q, %v, want %q", tt.want, got, err, tt.in)
			}
		})
	}
}

func TestTextFastPathAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _ = key.Text("user-é-42") }); n != 0 {
		t.Errorf("Text of a plain string allocates %v times, want 0", n)
	}
}

func TestUnescapeRefuses(t *testing.T) {
	for _, s := range []string{"%", "%4", "a%", "%3a", "%GG", "%41", "a:b", " ", "{", "\xff", "%C3%A9", "%C3\xa9", "\xc3%A9"} {
		if got, err := key.Unescape(s); !errors.Is(err, key.ErrEscape) {
			t.Errorf("Unescape(%q) = %q, %v, want ErrEscape", s, got, err)
		}
	}
}
