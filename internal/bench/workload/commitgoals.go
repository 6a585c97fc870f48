package workload

import (
	"github.com/twofold-go/twofold/internal/bench/report"
)

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
