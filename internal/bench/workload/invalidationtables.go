package workload

import (
	"fmt"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// keyScope returns the scope of one key in the benchmark's space.
func keyScope(id int64) invalidate.Scope {
	text, err := key.Of(id)
	if err != nil {
		panic(err) // every integer has a key
	}
	k, err := key.Space{Tenant: cache.DefaultTenant, Namespace: "bench:v1"}.Key(text)
	if err != nil {
		panic(err)
	}
	return invalidate.Key(k)
}

func invalidationTables(e *Env) []report.Table {
	var calls, rain []string
	for _, c := range e.callsOf(nil, nil) {
		calls = append(calls, c.name)
	}
	for _, s := range storms {
		rain = append(rain, s.name)
	}
	return []report.Table{
		report.Comparison{
			Title: "G: one invalidation, with a log on the same machine", Workload: "G", Settings: []string{callSetting, farSetting},
			Contenders: calls, Reference: barePing, Unit: p50, More: []string{p99},
			Note: fmt.Sprintf("Strict waits for the bound, %v here.", strictBound),
		}.Table(&e.Book),
		report.Comparison{
			Title: "G: local hits of 10,000 keys, 1 goroutine, while invalidations come", Workload: "G",
			Settings: []string{readsSetting + ", one tier", readsSetting + ", two tiers"}, Contenders: rain, Reference: "none", Unit: nsOp, More: []string{allocsOp},
			Note: "With two tiers each invalidation takes processor time in this process and in Redis, on the same two cores.",
		}.Table(&e.Book),
	}
}
