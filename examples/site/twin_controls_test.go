package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// enough is how many steps it may take to notice that something is missing.
const enough = 4_000

// controls are safeguards that are removed. What the twins do not notice, they
// prove nothing about.
var controls = map[string]func(w **twins, s []pipeline.Stage) []pipeline.Stage{
	"nothing is published": func(_ **twins, s []pipeline.Stage) []pipeline.Stage { return only(s, nil) },
	"objects are skipped":  func(_ **twins, s []pipeline.Stage) []pipeline.Stage { return only(s[1:], every) },
	"responses are skipped": func(_ **twins, s []pipeline.Stage) []pipeline.Stage {
		return only(s[:1], every)
	},
	"responses come first": func(w **twins, s []pipeline.Stage) []pipeline.Stage {
		return []pipeline.Stage{s[1], visited(w, s[0])}
	},
	"posts:en is dropped": without("posts:en"),
}

// entities are the other kinds of what events name.
var entities = []string{
	"feed:en", "tags:en", "months:zh", "post:", "slug:", "page:", "key:", "settings", "navigation", "sitemap",
}

func every(string) bool { return true }

// only returns the stages, but with those entities alone that keep keeps; nil
// keeps none.
func only(s []pipeline.Stage, keep func(entity string) bool) []pipeline.Stage {
	s = slices.Clone(s)
	for i, stage := range s {
		s[i].Invalidate = func(ctx context.Context, entities []string, all bool) error {
			if keep == nil {
				return nil
			}
			entities = slices.DeleteFunc(slices.Clone(entities), func(e string) bool { return !keep(e) })
			return stage.Invalidate(ctx, entities, all)
		}
	}
	return s
}

func without(prefix string) func(w **twins, s []pipeline.Stage) []pipeline.Stage {
	return func(_ **twins, s []pipeline.Stage) []pipeline.Stage {
		return only(s, func(e string) bool { return !strings.HasPrefix(e, prefix) })
	}
}

// visited lets somebody look at the hot pages before the stage.
func visited(w **twins, s pipeline.Stage) pipeline.Stage {
	inner := s.Invalidate
	s.Invalidate = func(ctx context.Context, entities []string, all bool) error {
		for _, target := range hot {
			(*w).ask((*w).cached, (*w).plainly(target))
		}
		return inner(ctx, entities, all)
	}
	return s
}

func TestTwinsNotice(t *testing.T) {
	all, kinds := maps.Clone(controls), entities
	if raceEnabled { // one will do, another one each time
		kinds = kinds[rand.IntN(len(kinds)):][:1]
	}
	for _, kind := range kinds {
		all[kind+" is dropped"] = without(kind)
	}
	for name, layers := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			if steps := search(t, seed, enough, layers); steps == enough {
				t.Errorf("nobody has noticed in %d steps of seed %d", steps, seed)
			} else {
				t.Logf("noticed after %d steps", steps)
			}
		})
	}
}

// In the right order, nobody notices who looks in between.
func TestTwinsAreVisitedInBetween(t *testing.T) {
	seed, steps := uint64(time.Now().UnixNano()), scaled(400)
	if n := search(t, seed, steps, func(w **twins, s []pipeline.Stage) []pipeline.Stage {
		return []pipeline.Stage{s[0], visited(w, s[1])}
	}); n != steps {
		t.Errorf("a difference after %d steps of seed %d", n, seed)
	}
}

// search makes random steps, n at most, until twins differ, and returns how many.
func search(t *testing.T, seed uint64, n int, layers func(w **twins, s []pipeline.Stage) []pipeline.Stage) int {
	t.Helper()
	var w *twins
	w = newTwins(t, func(s []pipeline.Stage) []pipeline.Stage { return layers(&w, s) })
	defer w.close()
	roll := rand.New(rand.NewPCG(seed, 0)).IntN
	for step := range n {
		if roll(3) == 0 {
			w.write(roll)
		}
		for range 2 {
			if w.differ(w.request(roll)) != "" {
				return step
			}
		}
	}
	return n
}
