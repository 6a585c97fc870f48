package fence_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// A load captures its mark and then reads a cached part, while a fence of the part's tag is being
// stored. If the mark counts the fence, the part must not be found clear of it. Otherwise the fence
// would never cover the value built from the part.
func TestMarkCountsNoFenceThatPartsMiss(t *testing.T) {
	f := fence.New(start)
	missed := 0
	for i := range 30_000 {
		scope := invalidate.Tag("org", strconv.Itoa(i))
		part := newEntry(f, "t:n:part")
		switch {
		case i%10 == 0:
			scope = invalidate.All()
		case i%3 == 0:
			scope = invalidate.Key(keyOf(t, part.key))
		}
		tags := &fence.Deps{Tags: []uint64{invalidate.Tag("org", strconv.Itoa(i)).Hash()}}
		part.tags = tags
		gen, tick, done := f.Generation(), f.Tick(), make(chan struct{})
		go func() {
			f.Fence(scope)
			close(done)
		}()
		for f.Tick() == tick {
			if i%2 == 0 {
				runtime.Gosched()
			}
		}
		built := newEntry(f, "t:n:built") // its mark counts the fence
		built.tags = &fence.Deps{Tags: tags.Tags, Keys: []uint64{part.hash}}
		unseen := !f.Since(gen, uint32(part.hash), partOf(part.key)) && !f.DepsSince(gen, part.tags)
		if !unseen {
			_, _, unseen = f.Clear(part.mark.Tick, uint32(part.hash), part, tags)
		}
		<-done
		if unseen && built.clear(f) {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d built entries carry a fenced tag and are clear of the fence", missed)
	}
}
