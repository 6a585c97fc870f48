package workload

import (
	"strings"

	"github.com/twofold-go/twofold/internal/bench/report"
)

// reasons say why a goal is missed, where that is known: from profiles, and from
// runs with one part switched off. They stand below the table when it is. The key
// is how the goal begins.
var reasons = map[string]string{
	"local hit (twofold) at": "a look at the clock, which neither ristretto nor otter's loading cache takes here. The processor does not " +
		"fetch the next hit's memory before the look is done, so it costs more than its own time: compare tier/local with " +
		"\"tier/local, clock\" below, which the cache itself comes on top of. Entries of up to twice the size, a table twice as dense, and " +
		"the clock before the table were tried, and made no difference or a worse one.",
	"local hit (twofold, two tiers) at": "the same; the ratio to peers is met by the larger value.",
	"a read beside 5 % writes": "a write fences its key, and readers ask whether the fence is theirs: two lines of memory that the other core " +
		"has just written. More groups of keys, fewer, and two tables of them were tried. The rest is new entries in cold memory, which the " +
		"peers pay, too, and what a write of 3 µs, where ristretto's takes less than 1, pushes out of the core's own cache.",
	"metrics on":   "a difference of two medians, each of which varies by more between runs: a hit does the same either way.",
	"negative hit": "an absence is an error, which lies behind a pointer: one more line of memory.",
	"stale hit":    "two more lines of memory: whether it may be served, and whether its refresh is due.",
	"a miss above its loader, one tier, µs": "the load runs in a goroutine of its own, so that no caller depends on another's patience; " +
		"whose stack grows once (1.4 µs), as any loader's would that does more than this one's; it has a deadline; the table grows; " +
		"a fifth is collecting garbage.",
	"a miss above its loader, one tier: alloc": "the ten of the load, and what the table grows by; eviction by ristretto makes up the rest.",
	"remote hit, p50 at 1 goroutine": "the processor sleeps while the server works, so the same GET takes 25 µs or 100 from one sample to the next; of " +
		"samples in which it did not sleep, a GET with CBOR took 25 µs and a hit 30.",
	"remote hit above GET and the codec: proc": "a context with a deadline, the checksum, the entry, and the garbage of all. With one goroutine " +
		"the processor sleeps while the server works, and what waking takes is counted, too, and varies by more than the difference; with 64, " +
		"when it does not sleep, a hit takes less of it than a GET alone (the table of processor time).",
	"remote hit above GET and the codec: alloc": "a context with a deadline takes 4, the keys of cell and cache 3, the entry and the job 1 each.",
	"remote hit, throughput at 64": "reading in company alone brings 3.4 times the throughput (BenchmarkGetTogether); what a hit takes of the " +
		"processor leaves that, on two cores that the server is on, too.",
	"stampede of 1,000": "over two tiers a look and a claim go before the load, and a fill goes after it. The answer to the look is read when a " +
		"thousand goroutines have had their turn on two cores, and those wake one after the other in the end.",
	"stampede of 4": "one load, of 10 ms, after a look and a claim; the other three processes look again every 2 ms.",
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
