package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// A fleet restarts, and the log is gone while cells survive, as on another server. The
// numbers of the new epochs may lie below those that the cells carry. Whatever was
// invalidated then must be gone, in the process that did it and in the others. (Finding
// V2.)
func TestSurvivingCellsOfALostLog(t *testing.T) {
	for name, scope := range map[string]invalidate.Scope{
		"key": keyScope(t, 1), "tag": invalidate.Tag("default", "t"), "prefix": invalidate.Prefix("default", "things:"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := thingConfig{Tags: func(int, string) []string { return []string{"t"} }}
				w := newLogged(t, cfg)
				for range 5 { // the next log will be far below
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
				w.put(t, cell) // a key's own cell was removed: its node comes back with it
				w.want(t, 0, 1, "1.2")
				w.want(t, 1, 1, "1.2")
				if n := w.tiers[0].Stats().Total.CellsRefused; n != 1 {
					t.Errorf("%d cells were refused, want the one of another epoch", n)
				}
			})
		})
	}
}

// text is the full key of the one thing here.
const text = cache.DefaultTenant + ":things:1"

// cell returns what the remote tier holds.
func (w *logged) cell(t *testing.T) []byte {
	t.Helper()
	b, err := w.memory.Get(t.Context(), text)
	if err != nil || len(b) == 0 {
		t.Fatalf("Get = %x, %v; want a cell", b, err)
	}
	return b
}

// put brings a cell back, whatever is there.
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
