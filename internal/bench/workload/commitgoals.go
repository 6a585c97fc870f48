package workload

import (
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/internal/bench/report"
)

func commitTables(e *Env) []report.Table {
	var ways []string
	for _, w := range new(database).writers() {
		ways = append(ways, w.name)
	}
	fills := make([]string, 0, len(cellSizes))
	gets := make([]string, 0, len(cellSizes))
	for _, size := range cellSizes {
		gets, fills = append(gets, getSetting(size)), append(fills, fillSetting(size))
	}
	return []report.Table{
		report.Comparison{
			Title: "I: a small transaction of 8 writers in PostgreSQL, synced to disk", Workload: "I", Settings: []string{commitSetting},
			Contenders: ways, Reference: bareCommit, Unit: nsOp, More: []string{p50, p99},
			Note: "One UPDATE, the statement that the row names, COMMIT. ns/op is the inverse of the throughput of all eight. Meanwhile a process numbers the appended records.",
		}.Table(&e.Book),
		report.Comparison{
			Title: "I: a process asks what is new", Workload: "I", Settings: []string{syncSetting},
			Contenders: []string{bareSelect, "Sync, nothing new"}, Reference: bareSelect, Unit: p50, More: []string{p99, allocsOp},
		}.Table(&e.Book),
		report.Comparison{
			Title: "I: from the answer to COMMIT until another process has the record", Workload: "I", Settings: []string{lagSetting},
			Contenders: []string{listening, polling}, Reference: listening, Unit: p50, More: []string{p99},
		}.Table(&e.Book),
		report.Comparison{
			Title: "I: get a cell, 1 goroutine", Workload: "I", Settings: gets, Contenders: cellTiers, Reference: inRedis, Unit: p50, More: []string{p99},
		}.Table(&e.Book),
		report.Comparison{
			Title: "I: claim and fill a cell that is there, 1 goroutine", Workload: "I", Settings: fills, Contenders: cellTiers, Reference: inRedis, Unit: p50, More: []string{p99},
		}.Table(&e.Book),
	}
}

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
		atLeast("small transactions with 1 scope, throughput against none", "≥ 0.7 ×", 0.7, throughput(oneAppended), "a counter row "+detail("a counter row numbers")),
		atLeast("small transactions with 3 scopes, throughput against none", "≥ 0.7 ×", 0.7, throughput("Append, 3 scopes"), "with NOTIFY "+detail("Append, 1 scope, and NOTIFY in it")),
		atLeast("a table that invalidates itself, 1 scope, throughput against none", "≥ 0.7 ×", 0.7, throughput(oneTriggered), "3 scopes "+detail("a trigger, 3 scopes")),
		atLeast("a table that invalidates itself, 1 scope, throughput against Append", "≥ 1 ×", 1, e.Book.Ratio(line(commitSetting, oneAppended), line(commitSetting, oneTriggered), nsOp),
			"3 scopes "+report.Number(e.Book.Ratio(line(commitSetting, "Append, 3 scopes"), line(commitSetting, "a trigger, 3 scopes"), nsOp))+" ×"),
		atMost("a Sync with nothing new, against SELECT 1", times(1.5), 1.5, e.Book.Ratio(line(syncSetting, "Sync, nothing new"), line(syncSetting, bareSelect), p50), "p50"),
		atMost("lag from COMMIT with LISTEN, p50, ms", "≤ 10", 10, ms(listening), ""),
		atMost("lag from COMMIT with a writer that dies, p50, ms", "≤ 100, the poll", 100, ms(polling), ""),
	})
}
