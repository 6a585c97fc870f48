package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
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

// code is an array that is its text, as a UUID is.
type code [3]byte

func (c code) MarshalText() ([]byte, error)  { return c[:], nil }
func (c *code) UnmarshalText(b []byte) error { copy(c[:], b); return nil }

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
		bubble(t, name, func(t *testing.T) { wantLeft(t, tt.scope, texts, tt.left) })
	}
	bubble(t, "prefix of texts of bytes", func(t *testing.T) {
		wantLeft(t, func(c cache.Cache[code, string]) invalidate.Scope { return c.Prefix("a:") },
			[]code{{'a', ':', 'b'}, {'a', ':', 'c'}, {'a', 'b', 'c'}}, []code{{'a', 'b', 'c'}})
	})
	bubble(t, "prefix of integers", func(t *testing.T) {
		wantLeft(t, func(c cache.Cache[int, string]) invalidate.Scope { return c.Prefix("4") },
			[]int{4, 40, 41, 400, -4, 14, 0}, []int{-4, 14, 0})
		wantLeft(t, func(c cache.Cache[int, string]) invalidate.Scope { return c.Prefix("-") },
			[]int{4, -4, -40, math.MinInt, 0}, []int{4, 0})
		wantLeft(t, func(c cache.Cache[int, string]) invalidate.Scope { return c.Prefix("0") }, []int{4, 40, 0}, []int{4, 40})
	})
}

// A handle knows its namespace, and so does that of another tenant.
func TestNamespaceOfAHandle(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{})
		c, err := cache.New(tiers, cache.For("users:v1", func(context.Context, int) (string, error) { return "", nil }))
		must(t, err)
		for name, tt := range map[string]struct {
			handle cache.Cache[int, string]
			want   string
		}{"a cache": {c, "users:v1"}, "another tenant": {c.Tenant("acme"), "users:v1"}, "the zero Cache": {cache.Cache[int, string]{}, ""}} {
			if got := tt.handle.Namespace(); got != tt.want {
				t.Errorf("Namespace of %s = %q, want %q", name, got, tt.want)
			}
		}
	})
}

// An invalid scope is refused by the call that uses it, and the call has no effect.
func TestScopesThatAreRefused(t *testing.T) {
	type id struct{ N int }
	type name string
	tiers := open(t, cache.TiersConfig{})
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
		"over-long key":              {strs.Key(strings.Repeat("x", 10<<20)), key.ErrTooLong, "at most 1024"},
		"NaN":                        {floats.Key(math.NaN()), key.ErrNumber, "NaN"},
		"empty tag":                  {strs.Tag(""), nil, "tag is empty"},
		"over-long tag":              {strs.Tag(strings.Repeat("x", 10<<20)), nil, "tag"},
		"tag not UTF-8":              {strs.Tag("\xff"), nil, "not UTF-8"},
		"empty prefix":               {strs.Prefix(""), nil, "use All"},
		"half a character":           {strs.Prefix("caf\xc3"), nil, "within a character"},
		"half a character, by name":  {names.Prefix("\xe2\x82"), nil, "within a character"},
		"over-long prefix":           {strs.Prefix(strings.Repeat("x", 10<<20)), nil, "at most 1024"},
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
		bubble(t, name, func(t *testing.T) {
			remote := faulty()
			tiers := open(t, cache.TiersConfig{Remote: remote})
			strs := with(t, tiers, cache.Config[string, string]{Namespace: "strs"})
			must(t, strs.Set(t.Context(), "k", "v"))
			remote.ResetCalls()
			for call, err := range map[string]error{
				"Invalidate": tiers.Invalidate(t.Context(), strs.All(), tt.scope, invalidate.Scope{}),
				"Delete":     strs.Delete(t.Context(), "k", tt.scope, invalidate.Scope{}),
				"DeleteAll":  strs.DeleteAll(t.Context(), tt.scope, invalidate.Scope{}),
			} {
				fails(t, err, invalidate.ErrScope, call)
				misuse{err, tt.is, []string{tt.text, "zero Scope"}}.check(t)
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

type point struct{ X, Y float64 }

// degrees has a text for every value, including NaN.
type degrees float64

func (d degrees) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%g", float64(d)), nil }

// spot has a text that lacks the field that makes it unequal to itself.
type spot struct {
	name string
	at   float64
}

func (s spot) MarshalText() ([]byte, error) { return []byte(s.name), nil }

// A key that is not equal to itself can never be found again. It would never hit or share a
// load, and would stay in the map of flights for ever. It is refused before anything is done, by
// an error that names the cause and the remedy.
func TestNaNKey(t *testing.T) {
	nan := math.NaN()
	t.Run("float64", func(t *testing.T) { nanKey(t, nan, 1.5) })
	t.Run("float32", func(t *testing.T) { nanKey(t, float32(nan), 1.5) })
	t.Run("struct", func(t *testing.T) { nanKey(t, point{1, nan}, point{1, 2}) })
	t.Run("array", func(t *testing.T) { nanKey(t, [2]float64{nan, 1}, [2]float64{2, 1}) })
	t.Run("float with a text", func(t *testing.T) { nanKey(t, degrees(nan), degrees(math.Inf(1))) })
	t.Run("struct with a text", func(t *testing.T) { nanKey(t, spot{"b", nan}, spot{"a", 1}) })
}

func nanKey[K comparable](t *testing.T, bad, good K) {
	synctest.Test(t, func(t *testing.T) {
		loads, remote := 0, faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote, MaxFlights: 2})
		c := with(t, tiers, cache.Config[K, string]{Load: func(context.Context, K) (string, error) { loads++; return "v", nil }})
		for range 3 {
			for _, err := range calls(t, c, bad) {
				misuse{err, nil, []string{"NaN"}}.check(t)
			}
		}
		if calls, entries := remote.Calls(), tiers.Stats().Local.Entries; loads != 0 || calls != 0 || entries != 0 {
			t.Errorf("%d loads, %d calls to the remote tier and %d local entries, want none", loads, calls, entries)
		}
		m, err := c.GetMany(t.Context(), []K{good, bad})
		misuse{err, nil, []string{"NaN"}}.check(t)
		same(t, map[K]string{good: "v"}, m, "GetMany with a valid key")
		equal(t, get(t, c, good), "v", "Get of the valid key")
		equal(t, loads, 1, "loads")
	})
}

type pair struct {
	Org  string
	User int
}

// An entry does not keep its full key. The key is encoded again when a prefix is fenced, and
// when a hook reports the entry. It must be the same as before.
func TestKeysAreSpelledAgain(t *testing.T) {
	t.Run("string", func(t *testing.T) { spelledAgain(t, "a b/ü:1") })
	t.Run("int", func(t *testing.T) { spelledAgain(t, -42) })
	t.Run("uint64", func(t *testing.T) { spelledAgain(t, uint64(1<<63)) })
	t.Run("bool", func(t *testing.T) { spelledAgain(t, true) })
	t.Run("own text", func(t *testing.T) { spelledAgain(t, degrees(1.5)) })
	t.Run("array", func(t *testing.T) { spelledAgain(t, [2]string{"a", "b"}) })
	t.Run("struct", func(t *testing.T) { spelledAgain(t, pair{"acme", 7}) })
}

func spelledAgain[K comparable](t *testing.T, k K) {
	t.Helper()
	var left []string
	tiers := open(t, cache.TiersConfig{OnRemoved: func(e cache.Entry, _ tier.EvictReason) { left = append(left, e.Key()) }})
	c := with(t, tiers, cache.Config[K, int]{Namespace: "spelled:v1"}).Tenant("acme")
	must(t, errors.Join(c.Set(t.Context(), k, 1), c.Set(t.Context(), k, 2))) // the second replaces the first
	id, err := key.Of(k)
	must(t, err)
	full := "acme:spelled:v1:" + id
	same(t, []string{full}, left, "the keys that OnRemoved gets")
	for _, prefix := range []string{full + "x", full[:len(full)-1] + "\x00", full} {
		must(t, tiers.Invalidate(t.Context(), prefixOf(prefix)))
		_, ok := c.Peek(t.Context(), k)
		equal(t, ok, prefix != full, "after prefix %q Peek finds %s", prefix, full)
	}
}

func TestTagLimits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		own    []string // by Config.Tags
		option []string
		depend []string
		stored bool
		many   bool
	}{
		{name: "256", depend: tagNames(256), stored: true},
		{name: "256 in three ways, repeated", own: tagNames(40), option: tagNames(256), depend: tagNames(20), stored: true},
		{name: "257", depend: tagNames(257), stored: true, many: true},
		{name: "257 in three ways", own: tagNames(252), option: []string{"x", "y"}, depend: []string{"u", "v", "w"}, stored: true, many: true},
		{name: "a thousand", depend: tagNames(1000), stored: true, many: true},
		{name: "empty tag", depend: []string{""}},
		{name: "over-long tag", own: []string{strings.Repeat("x", invalidate.MaxTagLen+1)}},
		{name: "longest tag", own: []string{strings.Repeat("x", invalidate.MaxTagLen)}, stored: true},
		{name: "not UTF-8", depend: []string{"\xff"}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			mem := tiertest.NewMemory()
			tiers := open(t, cache.TiersConfig{Remote: mem})
			c := with(t, tiers, thingConfig{Tags: func(int, string) []string { return tt.own }})
			load := func(ctx context.Context, _ int) (string, error) { cache.Depend(ctx, tt.depend...); return "v", nil }
			v, err := c.GetOrLoad(t.Context(), 1, load, cache.Tags(tt.option...))
			if v != "v" || err != nil {
				t.Errorf("GetOrLoad = %q, %v: want the value despite the tags", v, err)
			}
			_, local := c.Peek(t.Context(), 1)
			if local != tt.stored || (mem.Len() == 1) != tt.stored {
				t.Errorf("stored here: %v, cells: %d, want %v", local, mem.Len(), tt.stored)
			}
			if n := total(tiers).Fills.BadTags; (n == 0) != tt.stored {
				t.Errorf("Fills.BadTags = %d", n)
			}
			// Set returns the error.
			err = c.Set(t.Context(), 2, "v", cache.Tags(append(tt.option, tt.depend...)...))
			if (err == nil) != tt.stored {
				t.Errorf("Set: %v", err)
			}
			if err != nil && !errors.Is(err, invalidate.ErrScope) {
				t.Errorf("Set: %v, want ErrScope", err)
			}
			if n := total(tiers).Fills.ManyTags; (n > 0) != tt.many {
				t.Errorf("Fills.ManyTags = %d, want any: %v", n, tt.many)
			}
		})
	}
}

func tagNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("tag", i)
	}
	return out
}

// An unchanged value gets one tag more than a cell can hold. This does not change the tags of
// the entry that it replaces, which readers may still use.
func TestManyTagsOfAValueThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var entries []cache.Entry
		tiers := open(t, cache.TiersConfig{OnStored: func(e cache.Entry) { entries = append(entries, e) }})
		c := with(t, tiers, thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
			if _, ok := cache.Previous[string](ctx); ok {
				cache.Depend(ctx, "one too many")
				return "", cache.ErrNotModified
			}
			cache.Depend(ctx, tagNames(256)...)
			return "v", nil
		}})
		get(t, c, 1)
		must(t, c.Refresh(t.Context(), 1))
		if len(entries) != 2 {
			t.Fatalf("%d entries, want 2", len(entries))
		}
		for i, want := range []string{"default:tag255", ""} {
			var last string
			n, most := 0, false
			for hash, text := range entries[i].Tags() {
				n, last, most = n+1, text, most || hash == invalidate.AnyTag
			}
			if n != 256 || last != want || most != (i == 1) {
				t.Errorf("entry %d: %d tags, the last %q, AnyTag among them: %v", i, n, last, most)
			}
		}
	})
}
