package index_test

import (
	"testing"

	"github.com/twofold-go/twofold/cache/index"
)

// Of two entries of a key, the newest that may be served counts.
func TestEntryOf(t *testing.T) {
	x := index.New(index.Config{})
	check := func(step string, want *entry) {
		t.Helper()
		if e, ok := x.EntryOf("acme:users:1"); ok != (want != nil) || ok && e != want {
			t.Errorf("%s: EntryOf = %v, %t; want %v", step, e, ok, want)
		}
	}
	check("empty", nil)
	older := store(x, "acme:users:1")
	check("one", older)
	newer := store(x, "acme:users:1")
	check("two", newer)
	newer.dead.Store(true)
	check("the newer one is dead", older)
	remove(x, older)
	check("the older one has left", nil)
}
