package fence

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Recent knows when each kind of scope was invalidated or expired last, also if that is forgotten.
func TestRecent(t *testing.T) {
	small(t)
	k, err := key.Parse("t:a:x%3Ay")
	if err != nil {
		t.Fatal(err)
	}
	part, err := key.Parse("t:b:1")
	if err != nil {
		t.Fatal(err)
	}
	subject := &Subject{invalidate.Key(k).Hash(), "t:a:x%3Ay", &Deps{
		Tags: []uint64{invalidate.Tag("t", "x").Hash()}, Keys: []uint64{invalidate.Key(part).Hash()}, Prefixes: []uint64{Stem("t:"), Stem("t:b:")},
	}}
	for name, s := range map[string]invalidate.Scope{
		"its key": invalidate.Key(k), "a tag": invalidate.Tag("t", "x"), "the key of a part": invalidate.Key(part), "a prefix of a part": invalidate.Prefix("t", "b:"),
		"its namespace": invalidate.Prefix("t", "a:"), "a prefix that ends with a colon": invalidate.Prefix("t", "a:x%3A"),
		"a prefix inside the id": invalidate.Prefix("t", "a:x%3"), "its tenant": invalidate.Tenant("t"), "everything": invalidate.All(),
	} {
		for _, isSoft := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f, n := fences(t)
				wait := func() { rest(time.Second) }
				wait()
				before := f.Now()
				if f.Recent(before, n, subject) || !f.Recent(-1, n, subject) {
					t.Errorf("%s: Recent before anything, or not before the origin", name)
				}
				wait()
				at := f.Now()
				f.Store(fenceOf(s, isSoft), 1)
				if !f.Recent(before, n, subject) || !f.Recent(at-1, n, subject) || f.Recent(at, n, subject) {
					t.Errorf("%s, Expire: %v: Recent is not as of the time it was stored", name, isSoft)
				}
				wait()
				for i := range 2000 { // it is forgotten
					f.Store(fenceOf(invalidate.Tag("t", fmt.Sprint(i)), isSoft), 0)
					f.Store(fenceOf(invalidate.Prefix("t", fmt.Sprintf("c%d:", i)), isSoft), 0)
					if name == "a prefix inside the id" {
						f.Store(fenceOf(invalidate.Prefix("t", fmt.Sprint("a:q", i)), isSoft), 0)
					}
				}
				if !f.Recent(at-1, n, subject) {
					t.Errorf("%s, Expire: %v: it is forgotten, and not Recent", name, isSoft)
				}
			})
		}
	}
}
