package fence_test

import (
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// The fence of any tag covers entries with AnyTag, by tick and by position, hard and soft.
func TestAnyTag(t *testing.T) {
	const none = uint64(0x1234)
	if want := xxhash.Sum64String("*"); invalidate.AnyTag != want {
		t.Errorf("AnyTag = %#x, want %#x", invalidate.AnyTag, want)
	}
	for _, tt := range []struct {
		name  string
		scope invalidate.Scope
		soft  bool
		hits  bool
	}{
		{"a tag", invalidate.Tag("acme", "t"), false, true},
		{"a soft tag", invalidate.Tag("acme", "t"), true, true},
		{"a prefix", invalidate.Prefix("acme", "users:"), false, false},
		{"a soft prefix", invalidate.Prefix("acme", "users:"), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fence.New(time.Now())
			before := f.Capture()
			f.Apply(fence.Request{Scopes: []invalidate.Scope{tt.scope}, Soft: tt.soft})
			for tag, want := range map[uint64]bool{invalidate.AnyTag: tt.hits, none: false} {
				fresh, overtaken := f.Overtaken(before, 1, "acme:posts:1", &fence.Deps{Tags: []uint64{tag}})
				if hit := overtaken || fresh != fence.Forever; hit != want || overtaken == tt.soft && want {
					t.Errorf("Overtaken with tag %x = %v, fresh %d; want covered: %v", tag, overtaken, fresh, want)
				}
				fresh, ok := f.Accepts(before, 1, "acme:posts:1", &fence.Deps{Tags: []uint64{tag}})
				if hit := !ok || fresh != fence.Forever; hit != want || ok != tt.soft && want {
					t.Errorf("Accepts with tag %x = %v, fresh %d; want covered: %v", tag, ok, fresh, want)
				}
			}
			after := f.Capture()
			if fresh, overtaken := f.Overtaken(after, 1, "acme:posts:1", &fence.Deps{Tags: []uint64{invalidate.AnyTag}}); overtaken || fresh != fence.Forever {
				t.Errorf("a load that began later: Overtaken = %d, %v", fresh, overtaken)
			}
		})
	}
}
