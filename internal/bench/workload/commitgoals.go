package workload

import (
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/internal/bench/report"
)

// commitGoals returns the goals for invalidations inside transactions.
func (e *Env) commitGoals() []report.Goal {
	line := func(setting, who string) report.Line {
		return report.Line{Workload: "I", Setting: setting, Contender: who}
	}
	throughput := func(who string) float64 {
		return e.Book.Ratio(line(commitSetting, bareCommit), line(commitSetting, who), nsOp)
	}
	detail := func(who string) string {
		return fmt.Sprintf("%s ×", report.Number(throughput(who)))
	}
	ms := func(who string) float64 { return e.Book.Median(line(lagSetting, who), p50) / 1e6 }
	return slices.Clip([]report.Goal{
		goal("small transactions with 1 scope, throughput against none", "≥ 0.7 ×", throughput(oneAppended), "a counter row "+detail("a counter row numbers")),
		goal("small transactions with 3 scopes, throughput against none", "≥ 0.7 ×", throughput("Append, 3 scopes"), "with NOTIFY "+detail("Append, 1 scope, and NOTIFY in it")),
		goal("a table that invalidates itself, 1 scope, throughput against none", "≥ 0.7 ×", throughput(oneTriggered), "3 scopes "+detail("a trigger, 3 scopes")),
		goal("a table that invalidates itself, 1 scope, throughput against Append", "≥ 1 ×", e.Book.Ratio(line(commitSetting, oneAppended), line(commitSetting, oneTriggered), nsOp),
			"3 scopes "+report.Number(e.Book.Ratio(line(commitSetting, "Append, 3 scopes"), line(commitSetting, "a trigger, 3 scopes"), nsOp))+" ×"),
		goal("a Sync with nothing new, against SELECT 1", "≤ 1.5 ×", e.Book.Ratio(line(syncSetting, "Sync, nothing new"), line(syncSetting, bareSelect), p50), "p50"),
		goal("lag from COMMIT with LISTEN, p50, ms", "≤ 10", ms(listening), ""),
		goal("lag from COMMIT with a writer that dies, p50, ms", "≤ 100, the poll", ms(polling), ""),
	})
}
