package fence_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
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
		part := fencetest.New(f, "t:n:part")
		switch {
		case i%10 == 0:
			scope = invalidate.All()
		case i%3 == 0:
			scope = invalidate.Key(fencetest.KeyOf(t, part.Key))
		}
		tags := &fence.Deps{Tags: []uint64{invalidate.Tag("org", strconv.Itoa(i)).Hash()}}
		part.Tags = tags
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
		built := fencetest.New(f, "t:n:built") // its mark counts the fence
		built.Tags = &fence.Deps{Tags: tags.Tags, Keys: []uint64{part.Hash}}
		unseen := !f.Since(gen, uint32(part.Hash), partOf(part.Key)) && !f.DepsSince(gen, part.Tags)
		if !unseen {
			_, _, unseen = f.Clear(part.Mark.Tick, uint32(part.Hash), part, tags)
		}
		<-done
		if unseen && built.Clear(f) {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d built entries carry a fenced tag and are clear of the fence", missed)
	}
}
