package workload

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// Plots draws the results into a directory: local-hit.svg, redis-load.svg, hit-ratio-scan.svg,
// hit-ratio-moving.svg and, for runs of stalecheck, staleness.svg. It skips plots without
// measurements.
func (e *Env) Plots(dir string, stale []report.Stale) error {
	for _, p := range []struct {
		file string
		draw func(path string) error
	}{
		{"local-hit.svg", e.plotHits},
		{"redis-load.svg", e.plotLoad},
		{"hit-ratio-scan.svg", func(path string) error { return e.plotRatio(path, "zipf + scan") }},
		{"hit-ratio-moving.svg", func(path string) error { return e.plotRatio(path, "moving hot set") }},
		{"staleness.svg", func(path string) error { return plotStaleness(path, stale) }},
	} {
		if err := p.draw(filepath.Join(dir, p.file)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Env) plotHits(path string) error {
	gs := e.goroutines()
	p := gs[len(gs)-1]
	var bars []report.Bar
	for _, s := range peers.All() {
		v := e.Book.Median(hitLine(smallValue, p, 0, s.Name), nsOp)
		if v > 0 {
			bars = append(bars, report.Bar{Name: s.Name, Value: v, Ours: strings.HasPrefix(s.Name, "twofold")})
		}
	}
	if len(bars) == 0 {
		return nil
	}
	slices.SortFunc(bars, func(a, b report.Bar) int { return cmp.Compare(a.Value, b.Value) })
	title := fmt.Sprintf("Local hit: 100,000 keys, zipf 0.99, %d goroutines", p)
	return report.Bars(path, title, "ns per read, all goroutines together (shorter is better)", bars)
}

func (e *Env) plotLoad(path string) error {
	var curves []report.Curve
	for _, name := range []string{
		bareGet, autoPipeline, rueidisGet, oursName(codec.Raw), bareName(codec.CBOR), oursName(codec.CBOR),
	} {
		c := report.Curve{Name: name}
		for _, g := range remoteGoroutines {
			c.XY = append(c.XY, [2]float64{float64(g), e.Book.Median(remoteLine(g, name), perSecond)})
		}
		curves = append(curves, c)
	}
	return drawn(curves, func() error {
		return report.Curves(path, "Remote hit of 1 KiB: throughput", "goroutines", "reads per second (higher is better)", false, curves)
	})
}

func (e *Env) plotRatio(path, shape string) error {
	var curves []report.Curve
	for _, engine := range ratioEngines {
		c := report.Curve{Name: engine.name}
		for _, share := range shares {
			best := e.Book.Median(ratioLine(shape, share, optimum), hitPct)
			c.XY = append(c.XY, [2]float64{float64(share), 100 * e.Book.Median(ratioLine(shape, share, engine.name), hitPct) / best})
		}
		curves = append(curves, c)
	}
	return drawn(curves, func() error {
		return report.Curves(path, "Hit ratio, "+shape, "capacity, % of the keys", "% of what is possible (Belady)", false, curves)
	})
}

// drawn draws unless there is nothing to draw.
func drawn(curves []report.Curve, draw func() error) error {
	for _, c := range curves {
		for _, at := range c.XY {
			if !math.IsNaN(at[1]) {
				return draw()
			}
		}
	}
	return nil
}

// plotStaleness shows the stalest read of each run of stalecheck, and the bound of that run.
func plotStaleness(path string, stale []report.Stale) error {
	if len(stale) == 0 {
		return nil
	}
	bound, seen := report.Curve{Name: "the bound B"}, report.Curve{Name: "the stalest read of a run", Dots: true}
	bounds := map[float64]bool{}
	for _, s := range stale {
		b := float64(s.Bound) / float64(time.Millisecond)
		bounds[b] = true
		seen.XY = append(seen.XY, [2]float64{b, s.Max})
	}
	for b := range bounds {
		bound.XY = append(bound.XY, [2]float64{b, b})
	}
	slices.SortFunc(bound.XY, func(x, y [2]float64) int { return cmp.Compare(x[0], y[0]) })
	return report.Curves(path, "Staleness under faults", "bound B, ms", "ms", true, []report.Curve{bound, seen})
}
