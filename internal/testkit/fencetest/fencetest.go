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

// Entry is a loaded value as fences see it.
type Entry struct {
	Mark fence.Mark
	In   *fence.Namespace
	fence.Subject
	Ended bool // it was found expired
}

// unspelled finds no entry.
type unspelled struct{}

func (unspelled) EndKey(string, int64) {}
func (unspelled) Spells() bool         { return false }

// New returns an entry that is marked now.
func New(f *fence.Fences, k string, tags ...string) *Entry {
	tenant, _, _ := strings.Cut(k, ":")
	e := &Entry{Mark: f.Capture(), In: open(f, k), Subject: fence.Subject{Key: k, Hash: xxhash.Sum64String(k)}}
	for _, tag := range tags {
		if e.On == nil {
			e.On = new(fence.Deps)
		}
		e.On.Tags = append(e.On.Tags, invalidate.Tag(tenant, tag).Hash())
	}
	return e
}

// Clear reports whether nothing has invalidated the entry since it was marked.
func (e *Entry) Clear(f *fence.Fences) bool {
	fresh, over := f.Overtaken(e.Mark, e.In, &e.Subject)
	e.Ended = e.Ended || fresh != fence.Forever
	return !over
}

// Accepts reports whether fences accept a frame of a key, which any process has stored.
func Accepts(f *fence.Fences, m fence.Mark, hash uint64, k string, on *fence.Deps) bool {
	_, ok := f.Accepts(m, open(f, k), &fence.Subject{Hash: hash, Key: k, On: on})
	return ok
}

// open returns the namespace of a key, which ends at its last colon.
func open(f *fence.Fences, k string) *fence.Namespace {
	tenant, rest, _ := strings.Cut(k, ":")
	return f.Open(tenant, rest[:max(strings.LastIndexByte(rest, ':'), 0)], unspelled{})
}

// Check compares the entry as a load and as a frame.
func Check(t *testing.T, f *fence.Fences, e *Entry, want bool) {
	t.Helper()
	if got := e.Clear(f); got != want {
		t.Errorf("Clear(%s) = %v, want %v", e.Key, got, want)
	}
	if got := Accepts(f, e.Mark, e.Hash, e.Key, e.On); got != want {
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
