package follow_test

import (
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// entry is a cached value as fences see it.
type entry struct {
	born uint64
	hash uint64
	mark fence.Mark
	key  string
	tags *fence.Deps

	ended bool // it was found expired
}

// note records that the entry was found expired.
func (e *entry) note(fresh int64) {
	if fresh != fence.Forever {
		e.ended = true
	}
}

func newEntry(f *fence.Fences, k string, tags ...string) *entry {
	e := &entry{key: k, hash: xxhash.Sum64String(k), mark: f.Capture()}
	e.born = e.mark.Tick
	tenant, _, _ := strings.Cut(k, ":")
	for _, tag := range tags {
		if e.tags == nil {
			e.tags = new(fence.Deps)
		}
		e.tags.Tags = append(e.tags.Tags, invalidate.Tag(tenant, tag).Hash())
	}
	return e
}

// FullKey implements fence.Keyed.
func (e *entry) FullKey() string { return e.key }

func (e *entry) clear(f *fence.Fences) bool {
	_, fresh, ok := f.Clear(e.born, uint32(e.hash), e, e.tags)
	e.note(fresh)
	return ok
}

// check calls Clear twice, since its answers are remembered, and then Overtaken and Accepts.
func check(t *testing.T, f *fence.Fences, e *entry, want bool) {
	t.Helper()
	for range 2 {
		if got := e.clear(f); got != want {
			t.Errorf("Clear(%s) = %v, want %v", e.key, got, want)
		}
	}
	if got := overtaken(f, e.mark, e.hash, e.key, e.tags); got == want {
		t.Errorf("Overtaken(%s) = %v, want %v", e.key, got, !want)
	}
	if got := accepts(f, e.mark, e.hash, e.key, e.tags); got != want {
		t.Errorf("Accepts(%s) = %v, want %v", e.key, got, want)
	}
}

func keyOf(tb testing.TB, s string) key.Key {
	tb.Helper()
	k, err := key.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func accepts(f *fence.Fences, m fence.Mark, hash uint64, key string, tags *fence.Deps) bool {
	_, ok := f.Accepts(m, hash, key, tags)
	return ok
}

func overtaken(f *fence.Fences, m fence.Mark, hash uint64, key string, tags *fence.Deps) bool {
	_, over := f.Overtaken(m, hash, key, tags)
	return over
}
