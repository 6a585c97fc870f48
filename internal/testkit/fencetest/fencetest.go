// Package fencetest has an entry for the tests of fences and of what follows a log.
package fencetest

import (
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Entry is a cached value as fences see it.
type Entry struct {
	Born uint64
	Hash uint64
	Mark fence.Mark
	Key  string
	Tags *fence.Deps

	Ended bool // it was found expired
}

// New returns an entry that is marked now.
func New(f *fence.Fences, k string, tags ...string) *Entry {
	e := &Entry{Key: k, Hash: xxhash.Sum64String(k), Mark: f.Capture()}
	e.Born = e.Mark.Tick
	tenant, _, _ := strings.Cut(k, ":")
	for _, tag := range tags {
		if e.Tags == nil {
			e.Tags = new(fence.Deps)
		}
		e.Tags.Tags = append(e.Tags.Tags, invalidate.Tag(tenant, tag).Hash())
	}
	return e
}

// FullKey implements fence.Keyed.
func (e *Entry) FullKey() string { return e.Key }

// Note records whether the entry was found expired.
func (e *Entry) Note(fresh int64) {
	if fresh != fence.Forever {
		e.Ended = true
	}
}

// Clear reports whether no fence covers the entry.
func (e *Entry) Clear(f *fence.Fences) bool {
	_, fresh, ok := f.Clear(e.Born, uint32(e.Hash), e, e.Tags) //nolint:gosec // the low half is what is wanted
	e.Note(fresh)
	return ok
}

// Check calls Clear twice, since its answers are remembered, and then Overtaken and Accepts.
func Check(t *testing.T, f *fence.Fences, e *Entry, want bool) {
	t.Helper()
	for range 2 {
		if got := e.Clear(f); got != want {
			t.Errorf("Clear(%s) = %v, want %v", e.Key, got, want)
		}
	}
	if got := Overtaken(f, e.Mark, e.Hash, e.Key, e.Tags); got == want {
		t.Errorf("Overtaken(%s) = %v, want %v", e.Key, got, !want)
	}
	if got := Accepts(f, e.Mark, e.Hash, e.Key, e.Tags); got != want {
		t.Errorf("Accepts(%s) = %v, want %v", e.Key, got, want)
	}
}

// KeyOf parses a key.
func KeyOf(tb testing.TB, s string) key.Key {
	tb.Helper()
	k, err := key.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// Accepts is Fences.Accepts without the time.
func Accepts(f *fence.Fences, m fence.Mark, hash uint64, key string, tags *fence.Deps) bool {
	_, ok := f.Accepts(m, hash, key, tags)
	return ok
}

// Overtaken is Fences.Overtaken without the time.
func Overtaken(f *fence.Fences, m fence.Mark, hash uint64, key string, tags *fence.Deps) bool {
	_, over := f.Overtaken(m, hash, key, tags)
	return over
}
