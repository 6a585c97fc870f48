package cache_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// wantLeft sets keys of two tenants and of another namespace, and invalidates a scope. It checks
// which keys of the cache are left. The keys of the others must stay.
func wantLeft[K comparable](t *testing.T, scope func(cache.Cache[K, string]) invalidate.Scope, keys, want []K) {
	t.Helper()
	tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
	c := with(t, tiers, cache.Config[K, string]{Namespace: "things:v1"})
	acme, sibling := c.Tenant("acme"), with(t, tiers, cache.Config[K, string]{Namespace: "things:v12"})
	for _, k := range keys {
		for _, c := range []cache.Cache[K, string]{c, acme, sibling} {
			must(t, c.Set(t.Context(), k, "v", cache.Tags("t")))
		}
	}
	s := scope(c)
	must(t, tiers.Invalidate(t.Context(), s))
	left := func(c cache.Cache[K, string]) (l []K) {
		for _, k := range keys {
			if _, ok := c.Peek(t.Context(), k); ok {
				l = append(l, k)
			}
		}
		return l
	}
	same(t, want, left(c), "%v leaves", s)
	equal(t, len(left(acme)), len(keys), "the keys of another tenant that %v leaves", s)
	if n := len(left(sibling)); n != len(keys) && s.Kind() != invalidate.KindTag {
		t.Errorf("%v leaves %d keys of another namespace, want %d", s, n, len(keys))
	}
}

func TestScopesOfAHandle(t *testing.T) {
	type strs = cache.Cache[string, string]
	texts := []string{"john", "john doe", "john doe jr", "john%20doe", "jo:hn", "é", "\xc3", "a{b}"}
	for name, tt := range map[string]struct {
		scope func(strs) invalidate.Scope
		left  []string
	}{
		"key":                    {func(c strs) invalidate.Scope { return c.Key("john doe") }, []string{"john", "john doe jr", "john%20doe", "jo:hn", "é", "\xc3", "a{b}"}},
		"prefix":                 {func(c strs) invalidate.Scope { return c.Prefix("john doe") }, []string{"john", "john%20doe", "jo:hn", "é", "\xc3", "a{b}"}},
		"prefix with a colon":    {func(c strs) invalidate.Scope { return c.Prefix("jo:") }, []string{"john", "john doe", "john doe jr", "john%20doe", "é", "\xc3", "a{b}"}},
		"prefix with a percent":  {func(c strs) invalidate.Scope { return c.Prefix("john%") }, []string{"john", "john doe", "john doe jr", "jo:hn", "é", "\xc3", "a{b}"}},
		"prefix of a whole rune": {func(c strs) invalidate.Scope { return c.Prefix("é") }, []string{"john", "john doe", "john doe jr", "john%20doe", "jo:hn", "\xc3", "a{b}"}},
		"all":                    {func(c strs) invalidate.Scope { return c.All() }, nil},
		"tag":                    {func(c strs) invalidate.Scope { return c.Tag("t") }, nil},
	} {
		t.Run(name, func(t *testing.T) { wantLeft(t, tt.scope, texts, tt.left) })
	}
	t.Run("prefix of integers", func(t *testing.T) {
		wantLeft(t, func(c cache.Cache[int, string]) invalidate.Scope { return c.Prefix("4") },
			[]int{4, 40, 41, 400, -4, 14, 0}, []int{-4, 14, 0})
		wantLeft(t, func(c cache.Cache[int, string]) invalidate.Scope { return c.Prefix("-") },
			[]int{4, -4, -40, math.MinInt, 0}, []int{4, 0})
		wantLeft(t, func(c cache.Cache[int, string]) invalidate.Scope { return c.Prefix("0") }, []int{4, 40, 0}, []int{4, 40})
	})
}

// An invalid scope is refused by the call that uses it, and the call has no effect.
func TestScopesThatAreRefused(t *testing.T) {
	type id struct{ N int }
	type name string
	remote := faulty()
	tiers := open(t, cache.TiersConfig{Remote: remote})
	strs := with(t, tiers, cache.Config[string, string]{Namespace: "strs"})
	names := with(t, tiers, cache.Config[name, string]{Namespace: "names"})
	ints := with(t, tiers, cache.Config[int, string]{Namespace: "ints"})
	uints := with(t, tiers, cache.Config[uint8, string]{Namespace: "uints"})
	ids := with(t, tiers, cache.Config[id, string]{Namespace: "ids"})
	floats := with(t, tiers, cache.Config[float64, string]{Namespace: "floats"})
	var zero cache.Cache[int, string]
	for name, tt := range map[string]struct {
		scope invalidate.Scope
		is    error
		text  string
	}{
		"zero scope":                 {invalidate.Scope{}, nil, "zero Scope"},
		"zero key":                   {invalidate.Key(key.Key{}), nil, "key"},
		"prefix without a tenant":    {invalidate.Prefix("", "things:"), nil, "tenant"},
		"tag without a tenant":       {invalidate.Tag("", "t"), nil, "tenant"},
		"tag of a tenant with colon": {invalidate.Tag("a:b", "t"), nil, "tenant"},
		"empty key":                  {strs.Key(""), key.ErrEmpty, "id"},
		"over-long key":              {strs.Key(strings.Repeat("x", key.MaxLen)), key.ErrTooLong, "at most 1024"},
		"NaN":                        {floats.Key(math.NaN()), key.ErrNumber, "NaN"},
		"empty tag":                  {strs.Tag(""), nil, "tag is empty"},
		"tag not UTF-8":              {strs.Tag("\xff"), nil, "not UTF-8"},
		"empty prefix":               {strs.Prefix(""), nil, "use All"},
		"half a character":           {strs.Prefix("caf\xc3"), nil, "within a character"},
		"half a character, by name":  {names.Prefix("\xe2\x82"), nil, "within a character"},
		"over-long prefix":           {strs.Prefix(strings.Repeat("x", key.MaxLen)), nil, "at most 1024"},
		"prefix of no number":        {ints.Prefix("4x"), nil, "decimal"},
		"prefix with a leading zero": {ints.Prefix("04"), nil, "decimal"},
		"minus zero":                 {ints.Prefix("-0"), nil, "decimal"},
		"plus":                       {ints.Prefix("+4"), nil, "decimal"},
		"too many digits":            {ints.Prefix(strings.Repeat("9", 21)), nil, "decimal"},
		"negative and unsigned":      {uints.Prefix("-1"), nil, "decimal"},
		"prefix of hashed keys":      {ids.Prefix("a"), nil, "cache_test.id are hashed"},
		"key of a bad tenant":        {strs.Tenant("a:b").Key("k"), key.ErrSeparator, "tenant"},
		"tag of a bad tenant":        {strs.Tenant("").Tag("t"), key.ErrEmpty, "tenant"},
		"prefix of a bad tenant":     {strs.Tenant("a{").Prefix("k"), key.ErrCharacter, "tenant"},
		"all of a bad tenant":        {strs.Tenant("a:b").All(), key.ErrSeparator, "tenant"},
		"key of the zero Cache":      {zero.Key(1), nil, "zero Cache"},
		"tag of the zero Cache":      {zero.Tag("t"), nil, "zero Cache"},
		"prefix of the zero Cache":   {zero.Prefix("1"), nil, "zero Cache"},
		"all of the zero Cache":      {zero.All(), nil, "zero Cache"},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, strs.Set(t.Context(), "k", "v"))
			remote.ResetCalls()
			for call, err := range map[string]error{
				"Invalidate": tiers.Invalidate(t.Context(), strs.All(), tt.scope, invalidate.Scope{}),
				"Delete":     strs.Delete(t.Context(), "k", tt.scope, invalidate.Scope{}),
				"DeleteAll":  strs.DeleteAll(t.Context(), tt.scope, invalidate.Scope{}),
			} {
				if !errors.Is(err, invalidate.ErrScope) || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("%s: %v, want an ErrScope about %q that is %v", call, err, tt.text, tt.is)
				}
				if err != nil && !strings.Contains(err.Error(), "zero Scope") {
					t.Errorf("%s: %v, want an error that names the zero Scope, too", call, err)
				}
			}
			equal(t, remote.Calls(), 0, "remote calls for a refused scope")
			if _, ok := strs.Peek(t.Context(), "k"); !ok {
				t.Error("the refused call invalidated the key")
			}
		})
	}
	if n := testing.AllocsPerRun(100, func() { _ = ints.Key(7) == ints.Key(8) }); n > 2 {
		t.Errorf("two scopes of keys allocate %v times, want at most 2", n)
	}
}

// A prefix covers exactly the keys that start with it, even if characters in them are escaped.
func TestPrefixSpellsAsKeys(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[string, string]{})
	r := rand.New(rand.NewPCG(seedOf(t), 0))
	pieces := []string{"a", "b", "é", "€", "😀", " ", ":", "%", "%20", "{", "\xff", "\xc3", "\xa9", "\x00", "\uFFFD"}
	text := func() string {
		var s strings.Builder
		for range 1 + r.IntN(4) {
			s.WriteString(pieces[r.IntN(len(pieces))])
		}
		return s.String()
	}
	for range 100_000 {
		k, p := text(), text()
		if r.IntN(2) == 0 {
			p = k[:1+r.IntN(len(k))]
		}
		s := c.Prefix(p)
		if s.Validate() != nil {
			continue
		}
		if got, want := strings.HasPrefix(c.Key(k).Text(), s.Text()), strings.HasPrefix(k, p); got != want {
			t.Fatalf("Prefix(%q) covers %q: %v, want %v", p, k, got, want)
		}
	}
}

func TestInvalidate(t *testing.T) {
	play(t, scene{on: "alone paired", steps: `
		a gets 1.1; a invalidates SCOPE; a peeks nothing; a gets 1.2 load; a gets 1.2 local`})
	for _, wide := range []string{"tenant", "everything"} {
		play(t, scene{name: "wide", on: "alone paired", steps: `
			a gets 1.1; a gets 2.1 key=2; a invalidates ` + wide + `; a gets 2.2 load key=2`})
	}
}

// When the remote tier is unreachable, an invalidation returns an error, but applies in this process.
// The cells still exist, and are refused as older than the fence.
func TestInvalidateWithRemoteDown(t *testing.T) {
	play(t, scene{on: paired, steps: `
		a gets 1.1; a gets 2.1 key=2; remote fails; a deletes unavailable; a sets set key=2 unavailable; remote well
		a gets 1.2 load; a gets !2.1 key=2`})
}
