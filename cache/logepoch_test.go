package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// A fleet restarts on a new log, for example on another server, and old cells survive. The new
// epochs may have lower numbers than those in the cells. A value that is invalidated now must be
// gone in every process.
func TestSurvivingCellsOfALostLog(t *testing.T) {
	for name, scope := range map[string]invalidate.Scope{
		"key": keyScope(t, 1), "tag": invalidate.Tag("default", "t"), "prefix": invalidate.Prefix("default", "things:"),
	} {
		bubble(t, name, func(t *testing.T) {
			cfg := thingConfig{Tags: tagT}
			w := newLogged(t, cfg)
			for range 5 { // the next log will have far lower numbers
				w.log.Restart()
				advance(bound)
			}
			w.want(t, 0, 1, "1.1")
			cell := cellOf(t, w.memory, cell1)
			for i := range w.tiers {
				must(t, w.tiers[i].Close(t.Context()))
			}
			w.log.Delete()
			cfg.Load = w.src.load
			for i := range w.tiers {
				w.tiers[i] = open(t, cache.TiersConfig{Remote: w.wire[i], Log: w.link[i]})
				w.c[i] = with(t, w.tiers[i], cfg)
			}
			synctest.Wait()
			w.invalidate(t, 0, scope, invalidate.Strict)
			store(t, w.memory, cell1, cell, time.Hour) // the node that held the cell comes back with it
			w.want(t, 0, 1, "1.2")
			w.want(t, 1, 1, "1.2")
			if n := w.tiers[0].Stats().Total.CellsRefused; n != 1 {
				t.Errorf("%d cells were refused, want 1: the cell of another epoch", n)
			}
		})
	}
}
