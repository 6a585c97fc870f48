package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// Goals returns the goals and this run's results: medians of one run, and medians of ratios and
// differences, each taken within one round.
func (e *Env) Goals() []report.Goal {
	return explained(slices.Concat(e.localGoals(), e.kindGoals(), e.stateGoals(), e.remoteGoals(), e.stampedeGoals(), e.ratioGoals(), e.besideGoals(), e.memoryGoals(), e.commitGoals(), e.httpGoals()))
}

// quotient returns the ratio of two lines' medians. The lines may have different settings, which
// are not measured in the same round.
func (e *Env) quotient(a, b report.Line, unit string) float64 {
	return e.Book.Median(a, unit) / e.Book.Median(b, unit)
}

// worst returns the greatest of the numbers, or NaN if one is missing.
func worst(all ...float64) float64 {
	w := math.Inf(-1)
	for _, f := range all {
		if math.IsNaN(f) {
			return f
		}
		w = max(w, f)
	}
	return w
}

// whole removes the small share of background work from a count per operation.
func whole(f float64) float64 { return math.Floor(f*50) / 50 }

func goal(what, asked string, reached float64, detail string) report.Goal {
	return report.Goal{What: what, Asked: asked, Reached: reached, Detail: detail}
}

func times(limit float64) string { return "≤ " + report.Number(limit) + " ×" }

// localGoals returns the goals for hits of resident keys, for the worse kind of value.
func (e *Env) localGoals() []report.Goal {
	gs := goroutines()
	p := gs[len(gs)-1]
	against := func(ours string, limit float64, theirs ...string) report.Goal {
		ratios := make([]float64, 0, len(valuesOf))
		for _, kind := range valuesOf {
			most := math.Inf(-1)
			for _, name := range theirs {
				most = max(most, e.Book.Ratio(hitLine(kind.name, p, 0, ours), hitLine(kind.name, p, 0, name), nsOp))
			}
			ratios = append(ratios, most)
		}
		return goal(fmt.Sprintf("local hit (%s) at %d goroutines, against %s", ours, p, theirs[0]), times(limit), worst(ratios...), perValue(ratios))
	}
	one := func(who string) report.Line { return hitLine(smallValue, 1, 0, who) }
	var scaling, writes []float64
	for _, kind := range valuesOf {
		scaling = append(scaling, e.quotient(hitLine(kind.name, p, 0, "twofold"), hitLine(kind.name, 1, 0, "twofold"), nsOp))
		writes = append(writes, e.quotient(hitLine(kind.name, p, 5, "twofold"), hitLine(kind.name, p, 0, "twofold"), readerNs))
	}
	metrics := e.Book.Above(one("twofold, metrics"), one("twofold"), nsOp)
	return []report.Goal{
		goal("local hit, bound loader: allocations", "0", whole(e.Book.Median(one("twofold"), allocsOp)), "small, 1 goroutine"),
		against("twofold", 0.9, "ristretto", "ristretto, pointers"),
		against("twofold", 1, "otter, loading"),
		against("twofold", 0.5, "sturdyc"),
		against("twofold, two tiers", 0.1, "go-redis/cache"),
		against("twofold, two tiers", 0.1, "go-redis CSC"),
		against("twofold, two tiers", 0.15, "rueidis DoCache"),
		goal("local hit, call-site closure: allocations", "≤ 1", whole(e.Book.Median(one("twofold, closure"), allocsOp)), "small, 1 goroutine"),
		goal(fmt.Sprintf("local hit at %d goroutines, against 1", p), "≤ 0.6 ×", worst(scaling...), perValue(scaling)),
		goal("a read beside 5 % writes, against reads alone", "≤ 1.3 ×", worst(writes...), perValue(writes)),
		goal("metrics on, against off, ns", "≤ 25", metrics, "small, 1 goroutine"),
		goal("metrics on: allocations", "0", whole(e.Book.Median(one("twofold, metrics"), allocsOp)), "small, 1 goroutine"),
	}
}

func perValue(f []float64) string {
	return fmt.Sprintf("small %s, 1 KiB %s", report.Number(f[0]), report.Number(f[1]))
}

// stateGoals returns the goals for the states of an entry, and for misses.
func (e *Env) stateGoals() []report.Goal {
	state := func(who string) report.Goal {
		return goal(who+", against a plain hit", "≤ 1.1 ×", e.Book.Ratio(stateLine(who), stateLine(plainHit), nsOp), "1,000 keys, 1 goroutine")
	}
	above := func(setting, unit string) float64 {
		return e.Book.Above(missLine(setting, "twofold"), missLine(setting, bareLoader), unit)
	}
	miss := func(what, asked string, roomy, tight float64) report.Goal {
		return goal(what, asked, roomy, fmt.Sprintf("with room for all; %s with eviction", report.Number(tight)))
	}
	return []report.Goal{
		state(negativeHit), state(staleHit),
		miss("a miss above its loader, one tier, µs", "≤ 4", above(missRoomy, nsOp)/1000, above(missTight, nsOp)/1000),
		miss("a miss above its loader, one tier: allocations", "≤ 8", whole(above(missRoomy, allocsOp)), whole(above(missTight, allocsOp))),
	}
}

// remoteGoals returns the goals for hits of the remote tier, for the worst codec.
func (e *Env) remoteGoals() []report.Goal {
	one := func(who string) report.Line { return remoteLine(1, who) }
	var commands, scripts, p50s, cpu, allocs []float64
	pair := func(ours, bare string) {
		commands = append(commands, e.Book.Median(one(ours), commandsOp))
		scripts = append(scripts, e.Book.Median(one(ours), scriptsOp))
		p50s = append(p50s, e.Book.Ratio(one(ours), one(bare), p50))
		cpu = append(cpu, e.Book.Above(one(ours), one(bare), clientCPU))
		allocs = append(allocs, e.Book.Above(one(ours), one(bare), allocsOp))
	}
	pair(oursName(codec.Raw), bareGet)
	for _, c := range remoteCodecs {
		pair(oursName(c), bareName(c))
	}
	raw, bare := remoteLine(64, oursName(codec.Raw)), remoteLine(64, bareGet)
	const codecs = "the worst of raw, JSON and CBOR, with snappy and without"
	return []report.Goal{
		goal("remote hit: commands", "1", whole(worst(commands...)), "counted by the server"),
		goal("remote hit: scripts, and so leases", "0", whole(worst(scripts...)), "counted by the server"),
		goal("remote hit, p50 at 1 goroutine, against GET and the codec", "≤ 1.2 ×", worst(p50s...), codecs),
		goal("remote hit above GET and the codec: processor time, µs", "≤ 1", worst(cpu...)/1000, codecs),
		goal("remote hit above GET and the codec: allocations", "≤ 4", worst(allocs...), codecs),
		goal("remote hit at 64 goroutines, raw bytes, processor time against GET", "≤ 1 ×", e.Book.Ratio(raw, bare, clientCPU), ""),
		goal("remote hit, throughput at 64 goroutines, raw bytes, against GET", "≥ 2 ×", e.Book.Ratio(raw, bare, perSecond), ""),
		goal("remote hit, p50 at 64 goroutines, raw bytes, against GET", "≤ 0.6 ×", e.Book.Ratio(raw, bare, p50), ""),
	}
}

// stampedeGoals returns the goals for cold keys.
func (e *Env) stampedeGoals() []report.Goal {
	const ours = "twofold, two tiers"
	crowd, fleet := crowdSetting(1000), fleetSetting
	wait := func(l report.Line) float64 { return e.Book.Median(l, p99) / 1e6 }
	return []report.Goal{
		goal("stampede of 1,000 goroutines: loads", "1", worst(e.Book.Median(crowdLine(crowd, "twofold"), loadsPer), e.Book.Median(crowdLine(crowd, ours), loadsPer)), "one tier and two"),
		goal("stampede of 1,000 goroutines: p99, ms", "≤ 15", worst(wait(crowdLine(crowd, "twofold")), wait(crowdLine(crowd, ours))),
			fmt.Sprintf("one tier %s, two %s", report.Number(wait(crowdLine(crowd, "twofold"))), report.Number(wait(crowdLine(crowd, ours))))),
		goal("stampede of "+fleet+": loads", "1", e.Book.Median(crowdLine(fleet, ours), loadsPer), ""),
		goal("stampede of "+fleet+": p99, ms", "≤ 15", wait(crowdLine(fleet, ours)), ""),
	}
}

// ratioGoals returns the goals for hit ratios, in points.
func (e *Env) ratioGoals() []report.Goal {
	ahead := func(of string, shapes ...string) float64 {
		least := math.Inf(1)
		for _, shape := range shapes {
			for _, share := range shares[:2] {
				least = min(least, e.Book.Median(ratioLine(shape, share, "twofold"), hitPct)-e.Book.Median(ratioLine(shape, share, of), hitPct))
			}
		}
		return least
	}
	loop := math.Inf(1)
	var budget []float64
	for _, share := range shares {
		loop = min(loop, e.Book.Median(ratioLine("loop 1.5×", share, "twofold"), hitPct))
		for _, s := range shapes {
			budget = append(budget, e.Book.Median(ratioLine(s.name, share, "twofold"), budgetPct))
		}
	}
	average, behind := 0.0, math.Inf(1)
	for _, share := range shares {
		for _, s := range shapes {
			ours := e.Book.Median(ratioLine(s.name, share, "twofold"), hitPct)
			average += (ours - e.Book.Median(ratioLine(s.name, share, "otter"), hitPct)) / float64(len(shares)*len(shapes))
			behind = min(behind, ours-e.Book.Median(ratioLine(s.name, share, overRistretto), hitPct))
		}
	}
	const least = "the least of 1 % and 10 %"
	return []report.Goal{
		goal("hit ratio, zipf and zipf + scan, ahead of otter, points", "≥ −2", ahead("otter", "zipf", "zipf + scan"), least),
		goal("hit ratio, zipf and zipf + scan, ahead of ristretto + Wait, points", "> 0", ahead(withWait, "zipf", "zipf + scan"), least),
		goal("hit ratio, moving hot set, ahead of otter, points", "≥ 0", ahead("otter", "moving hot set"), least),
		goal("hit ratio ahead of otter on average, points", "≥ −0.5", average, "over all traces and capacities of D"),
		goal("hit ratio, tier/local ahead of tier/ristretto, points", "≥ −3", behind, "the least of all traces and capacities of D"),
		goal("hit ratio, loop, %", "≥ 30", loop, "the least of 1 %, 10 % and 50 %"),
		goal("byte budget at its fullest, %", "≤ 105", worst(budget...), "over all traces of D"),
	}
}

func (e *Env) memoryGoals() []report.Goal {
	heap := func(who string) string { return report.Number(e.Book.Median(memLine(who), heapEntry)) }
	return []report.Goal{
		goal("heap over keys and values at 1,000,000 entries, against ristretto", "≤ 1 ×", e.Book.Ratio(memLine("twofold"), memLine("ristretto"), heapEntry),
			fmt.Sprintf("%s against %s bytes per entry", heap("twofold"), heap("ristretto"))),
		goal("heap over keys and values at 1,000,000 entries, bytes per entry", "≤ 150", e.Book.Median(memLine("twofold"), heapEntry), ""),
	}
}

// kindGoals are about ways to read, and about a Set.
func (e *Env) kindGoals() []report.Goal {
	ratios := func(who, to string, spreads ...string) (worstOf float64, detail string) {
		all, details := make([]float64, len(spreads)), make([]string, len(spreads))
		for i, spread := range spreads {
			all[i] = e.Book.Ratio(kindLine(spread, who), kindLine(spread, to), nsOp)
			details[i] = spread + " " + report.Number(all[i])
		}
		return worst(all...), strings.Join(details, ", ")
	}
	against := func(what string, limit float64, who, to string, spreads ...string) report.Goal {
		reached, detail := ratios(who, to, spreads...)
		return goal(what, times(limit), reached, detail)
	}
	return []report.Goal{
		against("a hit by Get, against tier/local and one reading of the clock", 1.15, byGet, clocked, keySpreads...),
		against("a hit by Get, zipf, against otter, loading", 1, byGet, loading, zipfKeys),
		against("a hit at a moment, against ristretto", 1.1, atMoment, rawObject, keySpreads...),
		against("a hit that lives for ever, without a log, against ristretto", 1.1, forEver, rawObject, keySpreads...),
		against("GetMany of 64, per key, against Get", 0.6, byGetMany, byGet, keySpreads...),
		goal("a Set, against ristretto's", "≤ 2 ×", e.Book.Ratio(setLine(byGet), setLine(rawObject), nsOp), "one tier"),
	}
}
