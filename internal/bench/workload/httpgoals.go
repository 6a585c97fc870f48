package workload

import (
	"fmt"
	"strings"

	"github.com/twofold-go/twofold/internal/bench/report"
)

func (e *Env) loopbackNote() string {
	note := "Server and clients share one process, except that the other programs have processes of their own. " +
		"The processor time is that of server and clients together. The clients parse as little as possible."
	if len(e.left) > 0 {
		note += " Left out: " + strings.Join(e.left, ", ") + "."
	}
	return note
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
	until, response := ratio(hitUntil, barePage), ratio(hitResponse, barePage)
	return []report.Goal{
		goal("a page's hit, against a bare handler", "≤ 3 ×", worst(until, response),
			fmt.Sprintf("Pages %s, Shared %s", report.Number(until), report.Number(response))),
		goal("a page's hit, Shared against Pages", "≤ 1.1 ×", ratio(hitResponse, hitUntil), ""),
		goal("a page's hit: allocations", "≤ 5", whole(most(allocsOp)), "8 KiB and 1 MiB"),
		goal("a page's hit: bytes allocated", "≤ 850", most(bytesOp), "8 KiB and 1 MiB"),
		goal("a 304, against a hit", "≤ 1 ×", ratio(notModified, hitResponse), ""),
		goal("a compressed hit, against a hit", "≤ 1.1 ×", ratio(hitGzip, hitResponse), ""),
		goal("a second variant's hit, against a hit", "≤ 1.6 ×", ratio(hitVariant, hitResponse), ""),
		goal("1 KiB of 1 MiB, against a hit", "≤ 3 ×", ratio(hitRange, hitResponse), ""),
		goal("a compressed hit, faster than compressing by gzhttp", "≥ 20 ×", ratio(gzipEach, hitGzip), ""),
		goal("a page's miss above the handler, µs", "≤ 15", miss(nsOp)/1000, ""),
		goal("a page's miss above the handler: KiB allocated", "≤ 16, one copy of the 8", miss(bytesOp)/1024,
			fmt.Sprintf("in %s allocations", report.Number(miss(allocsOp)))),
		goal("a cold page in "+fleetSetting+": renderings", "1", crew.median(pagesPeer, loadsPer),
			fmt.Sprintf("clients wait %s ms at p99, 10 of them for the rendering", report.Number(crew.median(pagesPeer, p99)/1e6))),
		goal("loopback, 64 connections, against a bare handler", "≥ 0.9 ×", loop.ratio(hitResponse, barePage, perSecond), "requests per second"),
		goal("loopback, 64 connections, against a bare handler: processor time", "≤ 1.1 ×", loop.ratio(hitResponse, barePage, cpuOp), "server and clients together"),
		goal("a Transport's hit, faster than gregjones/httpcache", "≥ 4 ×", faster(short), fmt.Sprintf("8 KiB; %s × at 1 MiB", report.Number(faster(long)))),
		goal("a Transport's hit: allocations", "≤ 10", worst(allocs(short), allocs(long)), "8 KiB and 1 MiB"),
	}
}
