package ops

import (
	"strings"
	"time"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// pipelineStats are the numbers of the event pipeline.
type pipelineStats struct {
	QueueLength   int              `json:"queue_length"`
	Lag           uint64           `json:"lag"` // epochs published and not yet applied
	Published     int64            `json:"published"`
	Duplicates    int64            `json:"duplicates"`
	Drained       int64            `json:"drained"`
	Planned       int64            `json:"planned_actions"`
	Plans         int64            `json:"plans"`
	WriteConsumes int64            `json:"write_consumes"`
	AutoConsumes  int64            `json:"auto_consumes"`
	AutoRuns      int64            `json:"auto_runs"`
	AutoHits      int64            `json:"auto_hits"`
	Failures      int64            `json:"failed_rounds"`
	Stages        map[string]int64 `json:"stage_failures"`
	Overflows     int64            `json:"overflows"`
	Flushes       int64            `json:"flushes"`
	Panics        int64            `json:"panics"`
	ConsumeMillis float64          `json:"consume_ms_mean"`
	Waiting       int              `json:"warmups_waiting"`
	Warming       int              `json:"warmups_running"`
	Warmed        int64            `json:"warmed"`
	Restarted     int64            `json:"warmups_restarted"`
	Skipped       int64            `json:"warmups_skipped"`
	FailedWarms   int64            `json:"warmups_failed"`
	RefusedWarms  int64            `json:"warmups_refused"`
	LostWarms     int64            `json:"warmups_lost"`
	WarmMillis    float64          `json:"warm_ms_mean"`
}

func pipelineOf(s pipeline.Stats) *pipelineStats {
	return &pipelineStats{
		QueueLength: s.Queue.Len, Lag: s.Queue.Last - min(s.Applied, s.Queue.Last),
		Published: s.Queue.Published, Duplicates: s.Queue.Duplicates, Drained: s.Queue.Drained,
		Planned: s.Planned, Plans: s.Plans, WriteConsumes: s.WriteConsumes, AutoConsumes: s.AutoConsumes,
		AutoRuns: s.AutoRuns, AutoHits: s.AutoHits, Failures: s.FailedRounds, Stages: s.StageFailures,
		Overflows: s.Queue.Overflows, Flushes: s.Queue.Flushes, Panics: s.Panics,
		ConsumeMillis: mean(s.ConsumeTime, s.WriteConsumes+s.AutoConsumes),
		Waiting:       s.Waiting, Warming: s.Warming, Warmed: s.Warmed, Restarted: s.Restarted, Skipped: s.Skipped,
		FailedWarms: s.FailedWarms, RefusedWarms: s.RefusedWarms, LostWarms: s.Queue.LostWarms,
		WarmMillis: mean(s.WarmTime, s.Warmed+s.Restarted+s.FailedWarms),
	}
}

// mean returns milliseconds; 0 if there was nothing.
func mean(total time.Duration, n int64) float64 {
	if n <= 0 {
		return 0
	}
	return float64((total / time.Duration(n)).Microseconds()) / 1000
}

// planRow is one of the last rounds.
type planRow struct {
	At       time.Time `json:"at"`
	Millis   float64   `json:"took_ms"`
	Trigger  string    `json:"trigger"`
	Attempt  int       `json:"attempt"`
	Failed   string    `json:"error,omitempty"`
	First    uint64    `json:"first_epoch"`
	Last     uint64    `json:"last_epoch"`
	Events   int       `json:"events"`
	Subjects int       `json:"subjects"`
	Deleted  int       `json:"deleted"`
	Entities int       `json:"entities"`
	Warms    int       `json:"warmups"`
	All      bool      `json:"all"`
	Lost     int       `json:"lost"`
	Sample   []string  `json:"sample"` // of the entities
}

func plansOf(records []pipeline.Record) []planRow {
	rows := make([]planRow, 0, len(records))
	for _, r := range records {
		p := planRow{
			At: r.At.UTC(), Millis: mean(r.Took, 1), Trigger: r.Trigger.String(), Attempt: r.Attempt,
			First: r.First, Last: r.Last, Events: r.Events, Subjects: r.Subjects, Deleted: r.Deleted,
			Entities: r.Entities, Warms: r.Warms, All: r.All, Lost: r.Lost, Sample: r.Sample,
		}
		if r.Err != nil {
			p.Failed = cut(r.Err.Error()) // names stages and keys, never values
		}
		rows = append(rows, p)
	}
	return rows
}

// cut shortens a text of unknown length.
func cut(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}
