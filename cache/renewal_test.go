package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A long load renews its claim. When another process deletes the key meanwhile, the claim must
// not come back. The load began before the Delete, so its value must not be stored.
func TestRenewedClaimDoesNotOutliveDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := tiertest.NewMemory()
		slow, quick := &source{took: 20 * time.Second}, &source{}
		loader := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: slow.load})
		deleter := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: quick.load})
		done := make(chan struct{})
		go func() {
			defer close(done)
			get(t, loader, 1)
		}()
		advance(5 * time.Second) // the claim is renewed
		must(t, deleter.Delete(t.Context(), 1))
		advance(5 * time.Second) // the next renewals must fail
		if frame, err := remote.Get(t.Context(), keyScope(t, 1).Text()); err != nil || frame != nil {
			t.Errorf("after Delete the cell is %q, %v; want none", frame, err)
		}
		<-done
		if frame, err := remote.Get(t.Context(), keyScope(t, 1).Text()); err != nil || frame != nil {
			t.Errorf("the old load filled the cell")
		}
	})
}
