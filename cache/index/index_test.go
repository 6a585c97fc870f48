package index_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func TestBothWays(t *testing.T) {
	x := index.New(index.Config{})
	home := store(x, "acme:page:/", "post:8", "post:7", "nav")
	store(x, "acme:page:/7", "post:7", "nav")
	wantKeys(t, x, "post:7", "acme:page:/", "acme:page:/7")
	wantKeys(t, x, "post:8", "acme:page:/")
	wantKeys(t, x, "post:9")
	wantTags(t, x, "acme:page:/", "acme:nav", "acme:post:7", "acme:post:8")
	wantStats(t, x, index.Stats{Entries: 2, Tags: 3, Pairs: 5})
	keysOf(x, "post:7")[0] = "changed" // a copy
	remove(x, home)
	wantKeys(t, x, "post:7", "acme:page:/7")
	wantKeys(t, x, "post:8")
	wantTags(t, x, "acme:page:/")
	wantStats(t, x, index.Stats{Entries: 1, Tags: 2, Pairs: 2})
}

// A value with more tags than a cell carries is covered by every tag.
func TestAnyTag(t *testing.T) {
	x := index.New(index.Config{})
	store(x, "few", "a")
	store(x, "many", "a", "b", "*")
	wantKeys(t, x, "a", "few", "many")
	wantKeys(t, x, "c", "many")
}

// A newer entry is stored before the older one of its key has left. Until then a read may find
// either, so both are found.
func TestReplacement(t *testing.T) {
	x := index.New(index.Config{})
	store(x, "other", "b", "c")
	first := store(x, "k", "a", "b")
	second := store(x, "k", "b", "c")
	wantKeys(t, x, "a", "k")
	wantKeys(t, x, "b", "k", "other")
	wantTags(t, x, "k", "acme:b", "acme:c")
	third := store(x, "k", "d")
	remove(x, second)
	wantKeys(t, x, "a", "k")
	wantKeys(t, x, "c", "other")
	remove(x, first)
	wantKeys(t, x, "a")
	wantKeys(t, x, "d", "k")
	wantStats(t, x, index.Stats{Entries: 2, Tags: 3, Pairs: 3})
	remove(x, third)
	wantTags(t, x, "k")
	wantStats(t, x, index.Stats{Entries: 1, Tags: 2, Pairs: 2})
}

// The newer entry may leave first.
func TestNewestLeavesFirst(t *testing.T) {
	x := index.New(index.Config{})
	older := store(x, "k", "a")
	remove(x, store(x, "k", "b"))
	wantTags(t, x, "k", "acme:a")
	remove(x, older)
	wantStats(t, x, index.Stats{})
}

// An entry that must not be served is in the tier, but is not found.
func TestDeadEntries(t *testing.T) {
	x := index.New(index.Config{})
	older, newer := store(x, "k", "a"), store(x, "k", "b")
	newer.dead.Store(true)
	wantKeys(t, x, "a", "k")
	wantKeys(t, x, "b")
	wantTags(t, x, "k", "acme:a")
	older.dead.Store(true)
	wantTags(t, x, "k")
	wantStats(t, x, index.Stats{Entries: 2, Tags: 2, Pairs: 2})
}

// Values from the remote tier have only the hashes of their tags. One entry with the text is
// enough for all.
func TestTagsByHash(t *testing.T) {
	x := index.New(index.Config{})
	store(x, "1", "#t")
	wantKeys(t, x, "t", "1")
	wantTags(t, x, "1", fmt.Sprintf("#%016x", invalidate.Tag("acme", "t").Hash()))
	known := store(x, "2", "t")
	wantTags(t, x, "1", "acme:t")
	remove(x, known)
	wantTags(t, x, "1", "acme:t")
	wantKeys(t, x, "t", "1")
}

func TestKeysOfScopes(t *testing.T) {
	k7, err := key.Space{Tenant: "acme", Namespace: "users"}.Key("7")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"acme:posts:1", "acme:users:7", "acme:users:77", "acme:users:8", "other:users:7"}
	for name, tt := range map[string]struct {
		scope invalidate.Scope
		want  []string
	}{
		"key":            {invalidate.Key(k7), all[1:2]},
		"prefix":         {invalidate.Prefix("acme", "users:"), all[1:4]},
		"all":            {invalidate.All(), all},
		"tag":            {invalidate.Tag("acme", "team"), all[1:3]},
		"another's tag":  {invalidate.Tag("other", "team"), nil},
		"unknown tag":    {invalidate.Tag("acme", "none"), nil},
		"zero scope":     {invalidate.Scope{}, nil},
		"tag of nobody":  {invalidate.Tag("", "team"), nil},
		"prefix of none": {invalidate.Prefix("", "users:"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			x := index.New(index.Config{})
			for _, k := range all {
				if k == "acme:users:7" || k == "acme:users:77" {
					store(x, k, "team")
				} else {
					store(x, k)
				}
			}
			if got := x.KeysOf(tt.scope); !slices.Equal(got, tt.want) {
				t.Errorf("KeysOf = %q, want %q", got, tt.want)
			}
		})
	}
}

// A full index counts the entries that it lacks, and is complete again after they have left.
func TestIndexIsBounded(t *testing.T) {
	x := index.New(index.Config{MaxEntries: 2, MaxPairs: 3})
	one, two := store(x, "1", "a", "b"), store(x, "2", "a")
	wantStats(t, x, index.Stats{Entries: 2, Tags: 2, Pairs: 3})
	three := store(x, "3")
	wantStats(t, x, index.Stats{Entries: 2, Tags: 2, Pairs: 3, Missing: 1})
	remove(x, two)
	again := store(x, "2", "a", "c") // one pair too many
	wantKeys(t, x, "a", "1")
	wantStats(t, x, index.Stats{Entries: 1, Tags: 2, Pairs: 2, Missing: 2})
	remove(x, again)
	remove(x, three)
	wantStats(t, x, index.Stats{Entries: 1, Tags: 2, Pairs: 2})
	store(x, "2", "c")
	wantStats(t, x, index.Stats{Entries: 2, Tags: 3, Pairs: 3})
	remove(x, one)
	remove(x, one) // an entry that is not indexed is not missing
	wantStats(t, x, index.Stats{Entries: 1, Tags: 1, Pairs: 1})
	store(x, "", "c") // an entry without a key cannot be found
	wantStats(t, x, index.Stats{Entries: 1, Tags: 1, Pairs: 1, Missing: 1})
}

// After concurrent stores and removals, exactly the entries that were not removed are found. A
// tag that a key never loses is always found.
func TestConcurrently(t *testing.T) {
	const workers, keys, rounds = 4, 8, 2000
	x := index.New(index.Config{MaxEntries: -1, MaxPairs: -1})
	store(x, "pinned", "always")
	left := make([][]*entry, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var last *entry
			for i := range rounds {
				e := store(x, fmt.Sprint("k", (i*7+w)%keys), "all", fmt.Sprint("e", i%5), fmt.Sprint("w", w))
				if last != nil {
					remove(x, last)
				}
				last = e
				if got := keysOf(x, "always"); len(got) != 1 {
					t.Errorf("KeysOf(always) = %q", got)
				}
				x.TagsOf(e.key)
			}
			left[w] = []*entry{last}
		})
	}
	wg.Wait()
	for _, entries := range left {
		for _, e := range entries {
			if !slices.Contains(keysOf(x, "all"), e.key) {
				t.Errorf("%q is not found", e.key)
			}
			remove(x, e)
		}
	}
	wantStats(t, x, index.Stats{Entries: 1, Tags: 1, Pairs: 1})
}

// heap returns the reachable bytes.
func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A full cache and a million made-up keys: each is stored once and evicts another.
func TestIndexDoesNotLeak(t *testing.T) {
	const live, total = 1000, 1_000_000
	x := index.New(index.Config{MaxEntries: live + 1})
	entries := make([]*entry, live)
	turn := func(i int) {
		e := store(x, fmt.Sprint("acme:page:/?q=", i), fmt.Sprint("query:", i), "posts", fmt.Sprint("month:", i%12))
		if i >= live {
			remove(x, entries[i%live])
		}
		entries[i%live] = e
	}
	for i := range 2 * live {
		turn(i)
	}
	before, was := heap(), x.Stats()
	for i := 2 * live; i < total; i++ {
		turn(i)
	}
	wantStats(t, x, was)
	after := heap()
	t.Logf("%d keys: %d KiB; after %d keys more: %d KiB", live, before>>10, total-2*live, after>>10)
	if after > before+before/4+64<<10 {
		t.Errorf("heap grew from %d to %d bytes", before, after)
	}
	runtime.KeepAlive(x)
}

// After a peak the memory is returned, although Go's maps keep theirs.
func TestIndexShrinks(t *testing.T) {
	const peak = 100_000
	x := index.New(index.Config{})
	store(x, "stays", "posts")
	entries := make([]*entry, peak)
	for i := range entries {
		entries[i] = newEntry(fmt.Sprint("k", i), "posts", fmt.Sprint("post:", i))
	}
	before := heap()
	for _, e := range entries {
		x.Stored(e)
	}
	top := heap()
	for _, e := range entries {
		remove(x, e)
	}
	wantStats(t, x, index.Stats{Entries: 1, Tags: 1, Pairs: 1})
	after := heap()
	t.Logf("empty %d KiB, with %d keys %d KiB (%d bytes for a key of two tags, one its own), empty again %d KiB",
		before>>10, peak, top>>10, (top-before)/peak, after>>10)
	if after > before+(top-before)/20 {
		t.Errorf("heap was %d bytes, then %d, and is %d", before, top, after)
	}
	runtime.KeepAlive(x)
	runtime.KeepAlive(entries)
}
