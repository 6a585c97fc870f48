package workload

import (
	"strings"

	"github.com/twofold-go/twofold/internal/bench/report"
)

// reasons say why a goal is missed, where that is known: from profiles, and from
// runs with one part switched off. They stand below the table when it is. The key
// is how the goal begins.
var reasons = map[string]string{
	"local hit (twofold) at": "of a hit of few keys (56 ns), half is one look at the clock, which ristretto alone does not take; " +
		"of a hit of many, most is memory: a cell of the table and three lines of the entry. Reading the clock before the table " +
		"was tried, and was slower.",
	"local hit (twofold, two tiers) at": "the same; the ratio to peers is met by the larger value.",
	"a read beside 5 % writes": "a write fences its key, and readers ask whether the fence is theirs: two lines of memory that the other core " +
		"has just written. More groups of keys, fewer, and two tables of them were tried. The rest is new entries in cold memory, which the " +
		"peers pay, too, and what a write of 3 µs, where ristretto's takes less than 1, pushes out of the core's own cache.",
	"metrics on": "a difference of two medians, each of which varies by more between runs: a hit does the same either way.",
	"stale hit":  "two more lines of memory: whether it may be served, and whether its refresh is due.",
	"a miss above its loader, one tier, µs": "the load runs in a goroutine of its own, so that no caller depends on another's patience; " +
		"whose stack grows once (1.4 µs), as any loader's would that does more than this one's; it has a deadline; the table grows; " +
		"a fifth is collecting garbage.",
	"a miss above its loader, one tier: alloc": "the eleven of the load, and what the table grows by; eviction by ristretto makes up the rest.",
	"remote hit above GET and the codec: proc": "spread over a context with a deadline (a tenth), the checksum and the copy of the value, " +
		"the entry, and the garbage of all.",
	"remote hit above GET and the codec: alloc": "a context with a deadline takes 4, the keys of cell and cache 3, the entry, the job and " +
		"the copy of the value 1 each.",
	"remote hit, throughput at 64": "pipelining alone brings 3.4 times the throughput (BenchmarkGetTogether); what a hit takes of the processor " +
		"leaves that, on two cores that the server is on, too.",
	"stampede of 1,000": "over two tiers a look and a claim go before the load and a fill after it: 3.5 ms while a thousand goroutines " +
		"queue for two cores, and the network's answers behind them, then 1.3; waking a thousand takes 1.8, and the load itself 10.",
	"stampede of 4": "one load, of 10 ms, after a look and a claim; the other three processes look again every 4 ms.",
	"heap over keys and values": "an entry keeps the times and positions it is judged by, and a place in the front's table and list, " +
		"beside ristretto's own.",
}

// explained adds the reasons.
func explained(goals []report.Goal) []report.Goal {
	for i := range goals {
		for begins, why := range reasons {
			if strings.HasPrefix(goals[i].What, begins) {
				goals[i].Why = why
			}
		}
	}
	return goals
}
