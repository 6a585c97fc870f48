package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// A fleet restarts on a new log, for example on another server, and old cells survive. The new
// epochs may have lower numbers than those in the cells. A value that is invalidated now must be
// gone in every process.
func TestSurvivingCellsOfALostLog(t *testing.T) {
	for name, scope := range map[string]invalidate.Scope{
		"key": keyScope(t, 1), "tag": invalidate.Tag("default", "t"), "prefix": invalidate.Prefix("default", "things:"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := thingConfig{Tags: func(int, string) []string { return []string{"t"} }}
				w := newLogged(t, cfg)
				for range 5 { // the next log will have far lower numbers
					w.log.Restart()
					advance(bound)
				}
				w.want(t, 0, 1, "1.1")
				cell := w.cell(t)
				for i := range w.tiers {
					if err := w.tiers[i].Close(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				w.log.Delete()
				cfg.Load = w.src.load
				for i := range w.tiers {
					w.tiers[i] = open(t, cache.TiersConfig{Remote: w.wire[i], Log: w.link[i]})
					w.c[i] = with(t, w.tiers[i], cfg)
				}
				synctest.Wait()
				w.invalidate(t, 0, scope, invalidate.Strict)
				w.put(t, cell) // the node that held the cell comes back with it
				w.want(t, 0, 1, "1.2")
				w.want(t, 1, 1, "1.2")
				if n := w.tiers[0].Stats().Total.CellsRefused; n != 1 {
					t.Errorf("%d cells were refused, want 1: the cell of another epoch", n)
				}
			})
		})
	}
}

// text is the full key of the only thing in this test.
const text = cache.DefaultTenant + ":things:1"

// cell returns the frame in the remote tier.
func (w *logged) cell(t *testing.T) []byte {
	t.Helper()
	b, err := w.memory.Get(t.Context(), text)
	if err != nil || len(b) == 0 {
		t.Fatalf("Get = %x, %v; want a cell", b, err)
	}
	return b
}

// put replaces the frame in the remote tier with an old one.
func (w *logged) put(t *testing.T, cell []byte) {
	t.Helper()
	nonce := tier.NewNonce()
	if err := w.memory.Unlink(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if got, err := w.memory.Claim(t.Context(), text, tier.Claim{Nonce: nonce, Lease: time.Minute}); err != nil || !got.Granted {
		t.Fatalf("Claim = %+v, %v", got, err)
	}
	if ok, err := w.memory.Fill(t.Context(), text, tier.Fill{Nonce: nonce, Cell: cell, TTL: time.Hour}); err != nil || !ok {
		t.Fatalf("Fill = %v, %v", ok, err)
	}
}
