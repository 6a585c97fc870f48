package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/proc"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
)

// spawn runs this program once more, as worker i in the process with that number. The channel
// reports true when the worker has begun, and false if it ended before.
func (c runConfig) spawn(r *rig.Rig, dir string, i, number int) (*proc.Child, <-chan bool, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	env, err := json.Marshal(worker.Config{
		Proc: number, Server: r.Server(i), Source: r.Source(), DB: r.DB(i), Prefix: r.Prefix(), Seed: c.Seed,
		Bound: c.Bound, Strict: c.Strict, NoLog: slices.Contains(c.removed(), noLog), KeysOnly: r.KeysOnly(),
		Outside: slices.Contains(c.removed(), noOutbox), Late: slices.Contains(c.removed(), cellsFirst), Soft: c.Soft, Forgets: slices.Contains(c.removed(), noCalls), Composed: c.Composed, Plain: c.Plain,
		Keys: c.keys(), Readers: c.Readers, Writers: c.Writers,
		ReadPause: c.ReadPause, WritePause: c.WritePause, SlowLoads: c.SlowLoads, Audit: c.Audit,
		Events: eventsFile(dir, number), Report: reportFile(dir, number),
	})
	if err != nil {
		return nil, nil, err
	}
	log, err := os.Create(logFile(dir, number))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), worker.Env+"="+string(env), "TWOFOLD_SAFEGUARDS_OFF="+c.Without)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	child, err := proc.Start(cmd)
	if err != nil {
		return nil, nil, err
	}
	begun := make(chan bool, 1)
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		begun <- err == nil
	}()
	return child, begun, nil
}

func eventsFile(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("events-%d", i)) }
func reportFile(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("report-%d", i)) }
func logFile(dir string, i int) string    { return filepath.Join(dir, fmt.Sprintf("log-%d", i)) }
