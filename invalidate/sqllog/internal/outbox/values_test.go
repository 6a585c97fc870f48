package outbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
	"github.com/twofold-go/twofold/key"
)

func keyOf(t testing.TB, tenant, namespace, id string) invalidate.Scope {
	t.Helper()
	k, err := key.Space{Tenant: tenant, Namespace: namespace}.Key(id)
	if err != nil {
		t.Fatal(err)
	}
	return invalidate.Key(k)
}

// What triggers write is spelled as a cache spells it.
func TestValuesOfTriggers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]invalidate.Scope{
		`[["v","default","users:v1",42]]`:                   {keyOf(t, "default", "users:v1", "42")},
		`[["v","default","users:v1","42"]]`:                 {keyOf(t, "default", "users:v1", "42")},
		`[["v","default","users:v1",-9223372036854775808]]`: {keyOf(t, "default", "users:v1", key.Int(-1<<63))},
		`[["v","default","users:v1",9007199254740993]]`:     {keyOf(t, "default", "users:v1", "9007199254740993")},
		`[["v","default","users:v1",18446744073709551615]]`: {keyOf(t, "default", "users:v1", key.Uint(1<<64-1))},
		`[["v",7,"users:v1","a:b é"]]`:                      {keyOf(t, "7", "users:v1", key.Text("a:b é"))},
		`[["w","acme","seat:","a","b",3]]`:                  {invalidate.Tag("acme", "seat:a:b:3")},
		`[["w","acme","users"]]`:                            {invalidate.Tag("acme", "users")},
		`[["v","acme","users:v1",["613a0022"]]]`:            {keyOf(t, "acme", "users:v1", key.Text("a:\x00\""))},
		`[["w",["61636d65"],"seat:",["5C"],3]]`:             {invalidate.Tag("acme", `seat:\:3`)},
		// Values that no cache can have name nothing.
		`[["v","default","users:v1",""]]`:                                    nil,
		`[["v","a:b","users:v1",1],["v","","x",1],["v","a:b","users:v1"]]`:   nil,
		`[["w","","x"],["w","a:b"]]`:                                         nil,
		`[["w","default","` + strings.Repeat("x", 257) + `"]]`:               nil,
		`[["v","default","users:v1","` + strings.Repeat("x", 1025) + `"]]`:   nil,
		`[["v","default","users:v1","` + strings.Repeat("x", 1100) + `",1]]`: {{}},
		// Other forms do not parse.
		`[["v"]]`: {{}}, `[["v","a"]]`: {{}}, `[["w"]]`: {{}}, `[["v","a","b",true]]`: {{}}, `[["v","a","b",null]]`: {{}},
		`[["v","a","b",1.5]]`: {{}}, `[["v","a","b",1e3]]`: {{}}, `[["v","a","b",-0]]`: {{}}, `[["v","a",7,1]]`: {{}},
		`[["v","a","b",[1]]]`: {{}}, `[["v","a","b",["6"]]]`: {{}}, `[["v","a","b",["61","61"]]]`: {{}}, `[["v","a",["62"],1]]`: {{}}, `[["t","a",["62"]]]`: {{}}, `[["w","a","b",1.0]]`: {{}}, `[["v","a","b",18446744073709551616]]`: {{}}, `[["v","a","b",1]]]`: {{}},
	} {
		scopes, ok := scopesOf(text)
		if !ok {
			scopes = []invalidate.Scope{{}}
		}
		if d := cmp.Diff(want, scopes, cmp.Comparer(func(a, b invalidate.Scope) bool { return a == b })); d != "" {
			t.Errorf("%.80s (-want +got):\n%s", text, d)
		}
	}
	for text, want := range map[string]invalidate.Scope{
		`[["v","acme","users:v1"]]`: invalidate.Prefix("acme", "users:v1:"), `[["w","acme"]]`: invalidate.Tenant("acme"),
	} {
		if scopes, ok := scopesOf(text); !ok || scopes[0] != want {
			t.Errorf("%s = %+v, %v; want %v", text, scopes, ok, want)
		}
	}
}

// The elements that expire. They are apart from those that invalidate.
func TestExpiries(t *testing.T) {
	t.Parallel()
	const row = `[["k~","default:users:v1:42"],["t~","acme","org:7"],["p~","acme","users:"],["p~","acme",""],["a~"],["t","acme","x"]]`
	want := []invalidate.Scope{
		keyOf(t, "default", "users:v1", "42"), invalidate.Tag("acme", "org:7"), invalidate.Prefix("acme", "users:"), invalidate.Tenant("acme"), invalidate.All(),
	}
	n, ok := outbox.Parse(row)
	if !ok || !slices.Equal(n.Soft, want) || !slices.Equal(n.Scopes, []invalidate.Scope{invalidate.Tag("acme", "x")}) || n.Keys != nil {
		t.Errorf("Parse = %+v, %v; want expiries of %v and one tag", n, ok, want)
	}
	for _, bad := range []string{
		`[["~"]]`, `[["k~"]]`, `[["k~","default:42"]]`, `[["t~","","x"]]`, `[["a~~"]]`, `[["a~","x"]]`, `[["v~","default","users:v1",42]]`, `[["w~","acme"]]`,
	} {
		if n, ok := outbox.Parse(bad); ok {
			t.Errorf("Parse(%s) = %+v, want it refused", bad, n)
		}
	}
}

// scopesOf returns the scopes of a row.
func scopesOf(text string) (scopes []invalidate.Scope, ok bool) {
	n, ok := outbox.Parse(text)
	for _, k := range n.Keys {
		scopes = append(scopes, invalidate.Key(k))
	}
	return append(scopes, n.Scopes...), ok
}
