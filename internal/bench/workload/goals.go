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
	return slices.Concat(e.localGoals(), e.kindGoals(), e.stateGoals(), e.remoteGoals(), e.stampedeGoals(), e.ratioGoals(), e.besideGoals(), e.memoryGoals(), e.commitGoals(), e.httpGoals())
}

// column is the samples of one setting.
type column struct {
	b                 *report.Book
	workload, setting string
}

func (e *Env) at(workload, setting string) column { return column{&e.Book, workload, setting} }

func (c column) line(who string) report.Line { return line(c.workload, c.setting, who) }

func (c column) median(who, unit string) float64 { return c.b.Median(c.line(who), unit) }

// ratio is the median of x's samples divided by y's samples of the same rounds.
func (c column) ratio(x, y, unit string) float64 { return c.b.Ratio(c.line(x), c.line(y), unit) }

// above is ratio for the difference.
func (c column) above(x, y, unit string) float64 { return c.b.Above(c.line(x), c.line(y), unit) }

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

// because adds the reason for which a goal is missed, if it is.
func because(why string, g report.Goal) report.Goal {
	g.Why = why
	return g
}

func times(limit float64) string { return "≤ " + report.Number(limit) + " ×" }

// over returns a goal that must hold under each of several names, with the numbers of all.
func over(what, asked string, names []string, of func(name string) float64) report.Goal {
	all, details := make([]float64, len(names)), make([]string, len(names))
	for i, name := range names {
		all[i] = of(name)
		details[i] = name + " " + report.Number(all[i])
	}
	return goal(what, asked, worst(all...), strings.Join(details, ", "))
}

// localGoals returns the goals for hits of resident keys, for the worse kind of value.
func (e *Env) localGoals() []report.Goal {
	gs := goroutines()
	p := gs[len(gs)-1]
	hits := func(value string, goroutines, writes int) column {
		return e.at("A", hitSetting(value, goroutines, writes))
	}
	values := []string{smallValue, largeValue}
	against := func(ours string, limit float64, theirs ...string) report.Goal {
		return over(fmt.Sprintf("local hit (%s) at %d goroutines, against %s", ours, p, theirs[0]), times(limit), values, func(value string) float64 {
			most := math.Inf(-1)
			for _, name := range theirs {
				most = max(most, hits(value, p, 0).ratio(ours, name, nsOp))
			}
			return most
		})
	}
	one := hits(smallValue, 1, 0)
	// The next two are of lines that are not measured in the same round.
	scaling := func(value string) float64 {
		return hits(value, p, 0).median("twofold", nsOp) / hits(value, 1, 0).median("twofold", nsOp)
	}
	writes := func(value string) float64 {
		return hits(value, p, 5).median("twofold", readerNs) / hits(value, p, 0).median("twofold", readerNs)
	}
	return []report.Goal{
		goal("local hit, bound loader: allocations", "0", whole(one.median("twofold", allocsOp)), "small, 1 goroutine"),
		because(whyLocalHit, against("twofold", 0.9, "ristretto", "ristretto, pointers")),
		because(whyLocalHit, against("twofold", 1, "otter, loading")),
		because(whyLocalHit, against("twofold", 0.5, "sturdyc")),
		against("twofold, two tiers", 0.1, "go-redis/cache"),
		against("twofold, two tiers", 0.1, "go-redis CSC"),
		against("twofold, two tiers", 0.15, "rueidis DoCache"),
		goal("local hit, call-site closure: allocations", "≤ 1", whole(one.median("twofold, closure", allocsOp)), "small, 1 goroutine"),
		over(fmt.Sprintf("local hit at %d goroutines, against 1", p), "≤ 0.6 ×", values, scaling),
		because(whyBesideWrites, over("a read beside 5 % writes, against reads alone", "≤ 1.3 ×", values, writes)),
		goal("metrics on, against off, ns", "≤ 25", one.above("twofold, metrics", "twofold", nsOp), "small, 1 goroutine"),
		goal("metrics on: allocations", "0", whole(one.median("twofold, metrics", allocsOp)), "small, 1 goroutine"),
	}
}

// kindGoals are about ways to read, and about a Set.
func (e *Env) kindGoals() []report.Goal {
	against := func(what string, limit float64, who, to string, spreads ...string) report.Goal {
		return over(what, times(limit), spreads, func(spread string) float64 { return e.at("A", kindSetting(spread)).ratio(who, to, nsOp) })
	}
	return []report.Goal{
		because(whyGet, against("a hit by Get, against tier/local and one reading of the clock", 1.15, byGet, clocked, keySpreads...)),
		because(whyGet, against("a hit by Get, zipf, against otter, loading", 1, byGet, loading, zipfKeys)),
		against("a hit that lives for ever, without a log, against ristretto", 1.1, forEver, rawObject, keySpreads...),
		because(whyGetMany, against("GetMany of 64, per key, against Get", 0.6, byGetMany, byGet, keySpreads...)),
		because(whySet, goal("a Set, against ristretto's", "≤ 2 ×", e.at("A", setSetting).ratio(byGet, rawObject, nsOp), "one tier")),
	}
}

// stateGoals returns the goals for the states of an entry, and for misses.
func (e *Env) stateGoals() []report.Goal {
	state := func(who string) report.Goal {
		return goal(who+", against a plain hit", "≤ 1.1 ×", e.at("A", stateSetting).ratio(who, plainHit, nsOp), "1,000 keys, 1 goroutine")
	}
	miss := func(what, asked, unit string, of func(float64) float64) report.Goal {
		above := func(setting string) float64 { return of(e.at("A", setting).above("twofold", bareLoader, unit)) }
		return goal(what, asked, above(missRoomy), fmt.Sprintf("with room for all; %s with eviction", report.Number(above(missTight))))
	}
	return []report.Goal{
		state(negativeHit), because(whyStaleHit, state(staleHit)),
		because(whyMiss, miss("a miss above its loader, one tier, µs", "≤ 4", nsOp, func(ns float64) float64 { return ns / 1000 })),
		miss("a miss above its loader, one tier: allocations", "≤ 8", allocsOp, whole),
	}
}

// remoteGoals returns the goals for hits of the remote tier, for the worst codec.
func (e *Env) remoteGoals() []report.Goal {
	one, many := e.at("B", remoteSetting(1)), e.at("B", remoteSetting(64))
	raw := oursName(codec.Raw)
	of := func(f func(ours, bare string) float64) float64 {
		all := []float64{f(raw, bareGet)}
		for _, c := range remoteCodecs {
			all = append(all, f(oursName(c), bareName(c)))
		}
		return worst(all...)
	}
	median := func(unit string) float64 { return of(func(ours, _ string) float64 { return one.median(ours, unit) }) }
	above := func(unit string) float64 {
		return of(func(ours, bare string) float64 { return one.above(ours, bare, unit) })
	}
	p50s := of(func(ours, bare string) float64 { return one.ratio(ours, bare, p50) })
	const codecs = "the worst of raw, JSON and CBOR, with snappy and without"
	return []report.Goal{
		goal("remote hit: commands", "1", whole(median(commandsOp)), "counted by the server"),
		goal("remote hit: scripts, and so leases", "0", whole(median(scriptsOp)), "counted by the server"),
		goal("remote hit, p50 at 1 goroutine, against GET and the codec", "≤ 1.2 ×", p50s, codecs),
		because(whyRemoteTime, goal("remote hit above GET and the codec: processor time, µs", "≤ 1", above(clientCPU)/1000, codecs)),
		because(whyRemoteAllocs, goal("remote hit above GET and the codec: allocations", "≤ 4", above(allocsOp), codecs)),
		goal("remote hit at 64 goroutines, raw bytes, processor time against GET", "≤ 1 ×", many.ratio(raw, bareGet, clientCPU), ""),
		goal("remote hit, throughput at 64 goroutines, raw bytes, against GET", "≥ 2 ×", many.ratio(raw, bareGet, perSecond), ""),
		goal("remote hit, p50 at 64 goroutines, raw bytes, against GET", "≤ 0.6 ×", many.ratio(raw, bareGet, p50), ""),
	}
}

// stampedeGoals returns the goals for cold keys.
func (e *Env) stampedeGoals() []report.Goal {
	const ours = "twofold, two tiers"
	crowd, fleet := e.at("C", crowdSetting(1000)), e.at("C", fleetSetting)
	tiers := map[string]string{"one tier": "twofold", "two": ours}
	return []report.Goal{
		goal("stampede of 1,000 goroutines: loads", "1", worst(crowd.median("twofold", loadsPer), crowd.median(ours, loadsPer)), "one tier and two"),
		over("stampede of 1,000 goroutines: p99, ms", "≤ 15", []string{"one tier", "two"}, func(name string) float64 { return crowd.median(tiers[name], p99) / 1e6 }),
		goal("stampede of "+fleetSetting+": loads", "1", fleet.median(ours, loadsPer), ""),
		goal("stampede of "+fleetSetting+": p99, ms", "≤ 15", fleet.median(ours, p99)/1e6, ""),
	}
}

// ratioGoals returns the goals for hit ratios, in points.
func (e *Env) ratioGoals() []report.Goal {
	of := func(shape string, share int) column { return e.at("D", ratioSetting(shape, share)) }
	ahead := func(shape string, share int, who string) float64 {
		return of(shape, share).median("twofold", hitPct) - of(shape, share).median(who, hitPct)
	}
	least := func(who string, shapes ...string) float64 {
		least := math.Inf(1)
		for _, shape := range shapes {
			least = min(least, ahead(shape, shares[0], who), ahead(shape, shares[1], who))
		}
		return least
	}
	average, behind, loop := 0.0, math.Inf(1), math.Inf(1)
	var budget []float64
	for _, share := range shares {
		loop = min(loop, of("loop 1.5×", share).median("twofold", hitPct))
		for _, s := range shapes {
			average += ahead(s.name, share, "otter") / float64(len(shares)*len(shapes))
			behind = min(behind, ahead(s.name, share, overRistretto))
			budget = append(budget, of(s.name, share).median("twofold", budgetPct))
		}
	}
	const two = "the least of 1 % and 10 %"
	return []report.Goal{
		goal("hit ratio, zipf and zipf + scan, ahead of otter, points", "≥ −2", least("otter", "zipf", "zipf + scan"), two),
		goal("hit ratio, zipf and zipf + scan, ahead of ristretto + Wait, points", "> 0", least(withWait, "zipf", "zipf + scan"), two),
		goal("hit ratio, moving hot set, ahead of otter, points", "≥ 0", least("otter", "moving hot set"), two),
		goal("hit ratio ahead of otter on average, points", "≥ −0.5", average, "over all traces and capacities of D"),
		goal("hit ratio, tier/local ahead of tier/ristretto, points", "≥ −3", behind, "the least of all traces and capacities of D"),
		goal("hit ratio, loop, %", "≥ 30", loop, "the least of 1 %, 10 % and 50 %"),
		goal("byte budget at its fullest, %", "≤ 105", worst(budget...), "over all traces of D"),
	}
}

func (e *Env) memoryGoals() []report.Goal {
	full := e.at("E", memSetting)
	ours := full.median("twofold", heapEntry)
	return []report.Goal{
		goal("heap over keys and values at 1,000,000 entries, against ristretto", "≤ 1 ×", full.ratio("twofold", "ristretto", heapEntry),
			fmt.Sprintf("%s against %s bytes per entry", report.Number(ours), report.Number(full.median("ristretto", heapEntry)))),
		goal("heap over keys and values at 1,000,000 entries, bytes per entry", "≤ 150", ours, ""),
	}
}

// besideGoals returns the goals for hits beside invalidations of others, in one tier: there the call
// that invalidates costs little.
func (e *Env) besideGoals() (goals []report.Goal) {
	for _, name := range []string{"10,000/s of other prefixes", "10,000/s of other tags"} {
		goals = append(goals, goal("a hit beside "+name+", against one alone", times(1.3), e.at("G", oneTierReads).ratio(name, "none", nsOp), "two tags"))
	}
	return goals
}

// commitGoals returns the goals for invalidations inside transactions.
func (e *Env) commitGoals() []report.Goal {
	commit, lag := e.at("I", commitSetting), e.at("I", lagSetting)
	throughput := func(who, to string) float64 { return commit.ratio(to, who, nsOp) }
	number := func(f float64) string { return report.Number(f) + " ×" }
	return []report.Goal{
		goal("small transactions with 1 scope, throughput against none", "≥ 0.7 ×", throughput(oneAppended, bareCommit), "a counter row "+number(throughput(counterRow, bareCommit))),
		goal("small transactions with 3 scopes, throughput against none", "≥ 0.7 ×", throughput(threeAppended, bareCommit), "with NOTIFY "+number(throughput(withNotify, bareCommit))),
		goal("a table that invalidates itself, 1 scope, throughput against none", "≥ 0.7 ×", throughput(oneTriggered, bareCommit), "3 scopes "+number(throughput(threeTriggered, bareCommit))),
		goal("a table that invalidates itself, 1 scope, throughput against Append", "≥ 1 ×", throughput(oneTriggered, oneAppended), "3 scopes "+number(throughput(threeTriggered, threeAppended))),
		goal("a Sync with nothing new, against SELECT 1", "≤ 1.5 ×", e.at("I", syncSetting).ratio(emptySync, bareSelect, p50), "p50"),
		goal("lag from COMMIT with LISTEN, p50, ms", "≤ 10", lag.median(listening, p50)/1e6, ""),
		goal("lag from COMMIT with a writer that dies, p50, ms", "≤ 100, the poll", lag.median(polling, p50)/1e6, ""),
	}
}

// httpGoals returns the goals for pages.
func (e *Env) httpGoals() []report.Goal {
	one, crew, loop := e.at("J", pageSetting), e.at("J", fleetSetting), e.at("J", loopbackSetting)
	ratio := func(a, b string) float64 { return one.ratio(a, b, nsOp) }
	most := func(unit string) float64 {
		return worst(one.median(hitUntil, unit), one.median(hitResponse, unit), one.median(hitLong, unit))
	}
	miss := func(unit string) float64 { return e.at("J", missSetting).above(missStored, barePage, unit) }
	short, long := e.at("J", fetchSetting(pageSize)), e.at("J", fetchSetting(longPageSize))
	faster := func(c column) float64 { return c.ratio(gregjonesName, transportHit, nsOp) }
	allocs := func(c column) float64 { return whole(c.median(transportHit, allocsOp)) }
	return []report.Goal{
		goal("a page's hit, ns", "≤ 800", one.median(hitResponse, nsOp), report.Number(ratio(hitResponse, barePage))+" × a bare handler that writes 8 KiB of its memory"),
		goal("a page's hit, Shared against Pages", "≤ 1.1 ×", ratio(hitResponse, hitUntil), ""),
		goal("a page's hit: allocations", "≤ 4", whole(most(allocsOp)), "8 KiB and 1 MiB"),
		goal("a page's hit: bytes allocated", "≤ 850", most(bytesOp), "8 KiB and 1 MiB"),
		because(whyCondition, goal("a 304, against a hit", "≤ 1 ×", ratio(notModified, hitResponse), "")),
		because(whyCoding, goal("a compressed hit, against a hit", "≤ 1.1 ×", ratio(hitGzip, hitResponse), "")),
		because(whyVariant, goal("a second variant's hit, against a hit", "≤ 1.6 ×", ratio(hitVariant, hitResponse), "")),
		goal("1 KiB of 1 MiB, against a hit", "≤ 3 ×", ratio(hitRange, hitResponse), ""),
		goal("a compressed hit, faster than compressing by gzhttp", "≥ 20 ×", ratio(gzipEach, hitGzip), ""),
		goal("a page's miss above the handler, µs", "≤ 20", miss(nsOp)/1000, ""),
		goal("a page's miss above the handler: allocations", "≤ 40", whole(miss(allocsOp)), ""),
		goal("a page's miss above the handler: KiB allocated", "≤ 16, one copy of the 8", miss(bytesOp)/1024, ""),
		goal("a cold page in "+fleetSetting+": renderings", "1", crew.median(pagesPeer, loadsPer),
			fmt.Sprintf("clients wait %s ms at p99, 10 of them for the rendering", report.Number(crew.median(pagesPeer, p99)/1e6))),
		goal("loopback, 64 connections, against a bare handler", "≥ 0.9 ×", loop.ratio(hitResponse, barePage, perSecond), "requests per second"),
		goal("loopback, 64 connections, against a bare handler: processor time", "≤ 1.1 ×", loop.ratio(hitResponse, barePage, cpuOp), "server and clients together"),
		because(whyClient, goal("a Transport's hit, faster than gregjones/httpcache", "≥ 5 ×", faster(short), fmt.Sprintf("8 KiB; %s × at 1 MiB", report.Number(faster(long))))),
		goal("a Transport's hit: allocations", "≤ 10", worst(allocs(short), allocs(long)), "8 KiB and 1 MiB"),
	}
}
