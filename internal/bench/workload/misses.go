package workload

import (
	"context"

	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// A miss with a loader that does almost nothing: its time is the cache's own. Without room, it
// includes an eviction.

const (
	missRoomy = "miss, room for all"
	missTight = "miss, room for a few"
)

func missLine(setting, who string) report.Line {
	return report.Line{Workload: "A", Setting: setting, Contender: who}
}

const bareLoader = "the loader alone"

func (e *Env) misses(ctx context.Context) error {
	if err := e.missesOf(ctx, missRoomy, by(e, 1_000_000, 200_000, 20_000)); err != nil {
		return err
	}
	return e.missesOf(ctx, missTight, by(e, 20_000, 5000, 500))
}

func (e *Env) missesOf(ctx context.Context, setting string, room int) error {
	cs := []measure.Contender{{Name: bareLoader, Measure: func(ctx context.Context) error {
		var sum int64
		e.add(missLine(setting, bareLoader), e.missRun(ctx, func(i int) {
			v, _ := loadSmall(ctx, int64(i)) // it never fails
			sum += v.ID
		}))
		return nil
	}}}
	for _, s := range peers.All() {
		if !s.Loads || s.Kind == peers.TwoTier {
			continue
		}
		p, err := s.Open(peers.Options{Entries: room, Load: loadSmall})
		if err != nil {
			return err
		}
		defer p.Close()
		k := new(peers.Key) // never the same twice
		cs = append(cs, measure.Contender{Name: s.Name, Measure: func(ctx context.Context) error {
			e.add(missLine(setting, s.Name), e.missRun(ctx, func(int) {
				if k.ID++; s.Name == "sturdyc" {
					*k = peers.KeyOf(k.ID)
				}
				p.Get(ctx, k)
			}))
			return nil
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

func (e *Env) missRun(ctx context.Context, op func(int)) measure.Result {
	return measure.Run(ctx, measure.Config{For: e.ms(200, 100, 4)}, func(int) func(int) { return op })
}

func (e *Env) missTable() report.Table {
	return report.Comparison{
		Title: "A: a miss, with a loader that returns at once, 1 goroutine", Workload: "A", Settings: []string{missRoomy, missTight},
		Contenders: []string{
			bareLoader, "twofold", "twofold, closure", "twofold, metrics", "otter, loading", "theine, loading", "sturdyc",
		},
		Reference: "otter, loading", Unit: nsOp, More: []string{allocsOp, bytesOp},
	}.Table(&e.Book)
}
