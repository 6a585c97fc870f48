package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// without is a link to the layer's own log, whose records lack what drop names.
func without(drop func(layer string, f invalidate.Fence) bool) linkOf {
	return func(layer string, own second) invalidate.Log {
		log := logtest.NewFaulty(patiently(layer, own))
		log.Corrupt(func(p invalidate.Page) invalidate.Page {
			p.Scopes = slices.Clone(p.Scopes)
			for i, r := range p.Scopes {
				p.Scopes[i].Fences = slices.DeleteFunc(slices.Clone(r.Fences), func(f invalidate.Fence) bool { return drop(layer, f) })
			}
			return p
		})
		return log
	}
}

// The twins notice that an invalidation does not reach a layer, or that a kind of entity is not invalidated.
func TestTwinsNotice(t *testing.T) {
	const enough, fresh = 12_000, 600 // steps in all, and on one database, where little is left after many deletions
	deaf := func(layers ...string) linkOf {
		return without(func(layer string, _ invalidate.Fence) bool { return slices.Contains(layers, layer) })
	}
	silent := func(kind string) linkOf {
		return without(func(_ string, f invalidate.Fence) bool { return strings.HasPrefix(f.Scope.Text(), kind) })
	}
	for name, link := range map[string]linkOf{
		"objects hear nothing": deaf("objects", "absences"), "responses hear nothing": deaf("responses"),
		"posts": silent("posts"), "post": silent("post:"), "slug": silent("slug:"), "tags": silent("tags"), "settings": silent("settings"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			for step := 0; step < enough; seed++ {
				n := search(t, seed, fresh, link)
				if step += n; n < fresh {
					t.Logf("noticed after %d steps", step)
					return
				}
			}
			t.Errorf("no difference in %d steps until seed %d", enough, seed)
		})
	}
}

// search makes at most n random steps until twins differ, and returns their number.
func search(t *testing.T, seed uint64, n int, link linkOf) int {
	t.Helper()
	w := newTwins(t, link)
	defer w.close()
	roll := rand.New(rand.NewPCG(seed, 0)).IntN
	for step := range n {
		if roll(3) == 0 {
			w.write(roll)
		}
		for range 2 {
			if w.differ(w.cached, w.request(roll)) != "" {
				return step
			}
		}
	}
	return n
}
