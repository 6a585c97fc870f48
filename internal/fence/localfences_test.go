package fence_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Fences of one process cover only by their ticks, also behind a flush, which forgets the
// fences before it.
func TestLocalFences(t *testing.T) {
	space := key.Space{Tenant: "t", Namespace: "n"}
	k, err := space.Key("1")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]invalidate.Scope{
		"key": invalidate.Key(k), "prefix": invalidate.Prefix("t", "n:"), "tag": invalidate.Tag("t", "x"), "all": invalidate.All(),
	} {
		t.Run(name, func(t *testing.T) {
			f := fence.NewLocal(time.Now())
			tags := &fence.Deps{Tags: []uint64{invalidate.Tag("t", "x").Hash()}}
			overtaken := func(m fence.Mark) bool {
				_, overtaken := f.Overtaken(m, k.Hash(), k.String(), tags)
				return overtaken
			}
			for range 2 {
				before := f.Capture()
				if before.Key != 0 || before.Scope != 0 {
					t.Errorf("the mark %+v has positions", before)
				}
				if overtaken(before) {
					t.Error("covered without a fence")
				}
				f.Fence(s)
				if after := f.Capture(); !overtaken(before) || overtaken(after) {
					t.Errorf("covers what was marked before: %t, after: %t", overtaken(before), overtaken(after))
				}
				f.Flush()
				if after := f.Capture(); !overtaken(before) || overtaken(after) {
					t.Errorf("behind a flush: covers what was marked before: %t, after: %t", overtaken(before), overtaken(after))
				}
			}
		})
	}
}
