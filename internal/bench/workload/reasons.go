package workload

import (
	"strings"

	"github.com/twofold-go/twofold/internal/bench/report"
)

// reasons say why a goal is missed, if that is known: from profiles, and from runs with one part
// switched off. They are shown below the table if the goal is missed. The key is the start of the
// goal's name.
var reasons = map[string]string{
	"local hit (twofold) at": "a hit reads the clock; ristretto and otter's loading cache do not. The processor fetches nothing of the " +
		"next hit until the reading is done. Compare tier/local with \"tier/local, clock\" below. The cache comes on top of the latter. " +
		"Entries of up to twice the size, a denser table, and the clock before the table made no difference, or a worse one.",
	"a hit by Get": "see the local hit: the clock.",
	"a hit at a moment": "with uniform keys nearly every hit waits for main memory, and an entry of the cache takes one line of it more " +
		"than ristretto's.",
	"a hit that lives for ever": "with uniform keys nearly every hit waits for main memory, and an entry of the cache takes one line of it " +
		"more than ristretto's.",
	"GetMany of 64": "the map that it returns: see \"a new map of 64\" below. Reads at one moment need no map, and take half of a Get.",
	"a Set, against": "ristretto puts the value into a queue, and another goroutine does the rest. A Set fences its key, spells and hashes " +
		"it, measures the value and replaces the entry before it returns: 4 pieces of memory where ristretto takes 1.",
	"local hit (twofold, two tiers) at": "the same; the ratio to peers is met by the larger value.",
	"a read beside 5 % writes": "a write fences its key, and readers ask whether the fence is theirs: two lines of memory that the other core " +
		"has just written. More groups of keys, fewer, and two tables of them were tried. The rest is new entries in cold memory, which the " +
		"peers pay, too, and what a write of 3 µs, where ristretto's takes less than 1, pushes out of the core's own cache.",
	"metrics on":   "a difference of two medians, each of which varies by more between runs: a hit does the same either way.",
	"negative hit": "an absence is an error, which lies behind a pointer: one more line of memory.",
	"stale hit":    "two more lines of memory: whether it may be served, and whether its refresh is due.",
	"a miss above its loader, one tier, µs": "the load runs in its own goroutine, so that no caller depends on another's patience. Its " +
		"stack grows once, it has a deadline, and a fifth of the time is collecting garbage. A pool of goroutines with grown stacks saves a " +
		"tenth, and was refused: see launch in package cache.",
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

// explained adds the reasons to the goals.
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
