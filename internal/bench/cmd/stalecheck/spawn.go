package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
)

// spawn runs this program once more, as worker i in the process with that number. The channel
// reports true when the worker has begun, and false if it ended before.
func (c runConfig) spawn(r *rig.Rig, dir string, i, number int) (*proc.Child, <-chan bool, error) {
	log, err := os.Create(logFile(dir, number))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	without := func(control string) bool { return slices.Contains(c.removed(), control) }
	child, err := proc.Again(worker.Env, worker.Config{
		Proc: number, Server: r.Server(i), Source: r.Source(), DB: r.DB(i), Prefix: r.Prefix(), Seed: c.Seed,
		Bound: c.Bound, Strict: c.Strict, Soft: c.Soft, Composed: c.Composed, Plain: c.Plain, KeysOnly: r.KeysOnly(),
		NoLog: without(noLog), Outside: without(noOutbox), Late: without(cellsFirst), Forgets: without(noCalls),
		Keys: c.keys(), Readers: c.Readers, Writers: c.Writers,
		ReadPause: c.ReadPause, WritePause: c.WritePause, SlowLoads: c.SlowLoads, Audit: c.Audit,
		Events: eventsFile(dir, number), Report: reportFile(dir, number),
	}, log, "TWOFOLD_SAFEGUARDS_OFF="+c.Without)
	if err != nil {
		return nil, nil, err
	}
	begun := make(chan bool, 1)
	go func() { begun <- child.Hear(new(string)) == nil }()
	return child, begun, nil
}

func eventsFile(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("events-%d", i)) }
func reportFile(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("report-%d", i)) }
func logFile(dir string, i int) string    { return filepath.Join(dir, fmt.Sprintf("log-%d", i)) }
