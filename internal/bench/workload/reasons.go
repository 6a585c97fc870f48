package workload

import (
	"strings"

	"github.com/twofold-go/twofold/internal/bench/report"
)

// reasons say why a goal is missed, where that is known: from profiles, and from
// runs with one part switched off. They stand below the table when it is. The key
// is how the goal begins.
var reasons = map[string]string{
	"local hit (twofold) at": "of a hit of few keys, 40 % are one look at the clock, which ristretto alone does not take; " +
		"of a hit of many, most is memory: a cell of the table, the node and the entry. Reading the clock before the table, and " +
		"the node's fields next to the entry's, were tried, and were not faster.",
	"local hit (twofold, two tiers) at": "the same; the ratio to peers is met by the larger value.",
	"a read beside 5 % writes": "a write fences its key, and readers ask whether the fence is theirs: without that question reads beside " +
		"deletes of other keys take 125 ns for 240, and beside writes 207 for 280. More groups of keys, fewer, and two tables of them were tried. " +
		"The rest is new entries in cold memory, which the peers pay, too.",
	"metrics on": "a difference of two medians, each of which varies by more between runs: a hit does the same either way.",
	"stale hit":  "two more lines of memory: whether it may be served, and whether its refresh is due.",
	"a miss above its loader, one tier, µs": "the load runs in a goroutine of its own, so that no caller depends on another's patience; " +
		"it has a deadline; the table grows; a quarter is collecting garbage.",
	"a miss above its loader, one tier: alloc": "the twelve of the load, and what the table grows by; eviction by ristretto makes up the rest.",
	"remote hit above GET and the codec: proc": "spread over a context with a deadline (a tenth), the checksum and the copy of the value, " +
		"the entry, and the garbage of all.",
	"remote hit above GET and the codec: alloc": "a context with a deadline takes 4, the entry 2, the keys of cell and cache 2, the job 1, " +
		"the copy of the value 1.",
	"remote hit, throughput at 64": "pipelining alone brings 3.4 times the throughput (BenchmarkGetTogether); what a hit takes of the processor " +
		"leaves that, on two cores that the server is on, too.",
	"stampede of": "one load, of 10 ms; then a thousand goroutines, or 128 in four processes, wake on two cores, after a claim and a fill.",
	"heap over keys and values": "an entry keeps the text of its key, for prefixes; the times and positions it is judged by; and a place in " +
		"the front's table and list, beside ristretto's own.",
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
