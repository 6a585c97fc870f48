package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate"
)

// The program starts itself for each worker. Its test does the same.
func TestMain(m *testing.M) {
	setup.Child("stalecheck", worker.Env, worker.Main)
	os.Exit(m.Run())
}

// short returns a run without faults that is short enough for a test.
func short() runConfig {
	c := defaults()
	c.Bound, c.Duration, c.WritePause = quarter, 2*time.Second, 50*time.Millisecond
	return c
}

// longEnough makes a run, and as long as the run was too short to show anything, one of twice its length.
// In two seconds a busy machine may do little.
func longEnough(t *testing.T, c runConfig, shows func(r *result) bool) *result {
	t.Helper()
	for {
		r, err := c.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if shows(r) && !errors.Is(r.judge(), errThin) || r.foreign() > 0 || c.Duration > time.Minute {
			return r
		}
		c.Duration *= 2
	}
}

func violates(r *result) bool { return len(r.verdict.Violations) > 0 }

func TestRun(t *testing.T) {
	r := longEnough(t, short(), func(r *result) bool { return r.verdict.Reads > 0 && r.verdict.Acks > 0 })
	if err := r.judge(); err != nil {
		r.explain(os.Stderr)
		t.Errorf("a run without faults: %v", err)
	}
}

// Without a log, processes do not learn of each other's prefixes and tags. The checker must notice
// that, and must not report success.
func TestRunFindsViolations(t *testing.T) {
	c := short()
	c.Without = "log"
	r := longEnough(t, c, violates)
	if err := r.judge(); !errors.Is(err, setup.ErrFound) {
		t.Errorf("judge() without a log = %v, want %v", err, setup.ErrFound)
	}
	r.c.Expect = "violations"
	if err := r.judge(); err != nil {
		t.Errorf("judge() where violations are expected = %v, want nil", err)
	}
	var text strings.Builder
	r.explain(&text)
	for _, want := range []string{"violation: g", "invalidated by", "earlier, own process false"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the explanation has no %q:\n%s", want, text.String())
		}
	}
}

// Audits find the writes that are not invalidated. They are true alarms, and no read violates the
// guarantee.
func TestRunFindsForgottenWrites(t *testing.T) {
	c := short()
	c.Keys, c.Without, c.Expect = 400, worker.NoCalls, alarms
	r := longEnough(t, c, func(r *result) bool { return r.verdict.Alarms > len(r.verdict.FalseAlarms) })
	if err := r.judge(); err != nil {
		r.explain(os.Stderr)
		t.Errorf("%v; %d alarms, %d of them false", err, r.verdict.Alarms, len(r.verdict.FalseAlarms))
	}
}

// An audit may report what the guarantee forbids only where a safeguard of the guarantee is removed.
func TestJudgeAlarms(t *testing.T) {
	for _, tt := range []struct {
		expect     string
		all, false int
		ok         bool
	}{
		{"", 0, 0, true}, {"", 3, 0, true}, {"", 3, 1, false},
		{alarms, 3, 0, true}, {alarms, 3, 1, false}, {alarms, 0, 0, false},
		{falseAlarms, 3, 1, true}, {falseAlarms, 3, 0, false},
	} {
		r := &result{c: defaults(), verdict: &history.Verdict{Reads: 1, Acks: 1, Alarms: tt.all, FalseAlarms: make([]history.Violation, tt.false)}}
		r.c.Expect = tt.expect
		if err := r.judge(); (err == nil) != tt.ok {
			t.Errorf("judge() of %d alarms, %d of them false, where %q is expected = %v", tt.all, tt.false, tt.expect, err)
		}
	}
}

// A run that shows too little is not the last word. One that shows what must never be is.
func TestJudgeThin(t *testing.T) {
	bad := make([]history.Violation, 1)
	for name, tt := range map[string]struct {
		expect  string
		verdict history.Verdict
		thin    bool
	}{
		"nothing":                     {"", history.Verdict{}, true},
		"a silent control":            {violations, history.Verdict{Reads: 1, Acks: 1}, true},
		"an observer that missed all": {"", history.Verdict{Reads: 1, Acks: 1, Unseen: 1}, true},
		"a violation that it saw":     {"", history.Verdict{Reads: 1, Acks: 1, Unseen: 1, Violations: bad}, false},
		"a false alarm":               {alarms, history.Verdict{Reads: 1, Acks: 1, FalseAlarms: bad, Alarms: 1}, false},
	} {
		r := &result{c: defaults(), verdict: &tt.verdict}
		r.c.Expect = tt.expect
		if err := r.judge(); !errors.Is(err, setup.ErrFound) || errors.Is(err, errThin) != tt.thin {
			t.Errorf("judge() of %s = %v; it shows too little: want %v", name, err, tt.thin)
		}
	}
}

// A worker that dies after COMMIT reports nothing. So without the outbox its invalidations are
// lost, and with it they are not.
func TestRunDatabase(t *testing.T) {
	for without, expect := range map[string]string{worker.NoOutbox: "violations", "": ""} {
		c := short()
		c.DB, c.Fault, c.Without, c.Expect = worker.SQLite, "committed", without, expect
		r := longEnough(t, c, func(r *result) bool {
			many := len(r.incidents) >= 3
			return many && expect == "" || violates(r) && (many || expect == "")
		})
		if err := r.judge(); err != nil {
			r.explain(os.Stderr)
			t.Errorf("without %q: %v", without, err)
		}
		if len(r.incidents) < 3 {
			t.Errorf("without %q: %d incidents, want 3 or more", without, len(r.incidents))
		}
	}
}

// Writers that are plain SQL clients know nothing of the log. With triggers nothing is lost.
func TestRunPlainSQL(t *testing.T) {
	for without, expect := range map[string]string{worker.NoTriggers: "violations", "": ""} {
		c := short()
		c.DB, c.Fault, c.Plain, c.Without, c.Expect = worker.SQLite, "committed", true, without, expect
		r := longEnough(t, c, func(r *result) bool { return violates(r) || expect == "" })
		if err := r.judge(); err != nil {
			r.explain(os.Stderr)
			t.Errorf("without %q: %v", without, err)
		}
	}
}

// Writers that are processes of redis-cli, some of which are killed. Only the removal of the cell keeps a process
// that does not know the record from the old value.
func TestRunRedisCLI(t *testing.T) {
	for without, expect := range map[string]string{worker.NoCell: "violations", "": ""} {
		c := short()
		c.Fault, c.Plain, c.Without, c.Expect = "key-trim", true, without, expect
		c.Keys, c.WritePause, c.Duration = 2000, 20*time.Millisecond, 5*time.Second
		r := longEnough(t, c, func(r *result) bool { return violates(r) || expect == "" })
		if err := r.judge(); err != nil {
			r.explain(os.Stderr)
			t.Errorf("without %q: %v", without, err)
		}
	}
}

// Runs of a suite may overlap. One that cannot run does not end the others, and the suite fails.
func TestRunSuite(t *testing.T) {
	good, broken := short(), short()
	broken.Fault = "rain"
	o := &options{out: filepath.Join(t.TempDir(), "table"), parallel: 2}
	if err := o.runSuite(t.Context(), []runConfig{broken, good, good}); !errors.Is(err, setup.ErrFound) {
		t.Errorf("runSuite() = %v, want %v", err, setup.ErrFound)
	}
	b, err := os.ReadFile(o.out)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n| none |"); n != 2 {
		t.Errorf("%d rows, want 2:\n%s", n, b)
	}
}

func TestJudge(t *testing.T) {
	good := func() *result {
		return &result{c: defaults(), verdict: &history.Verdict{Reads: 1, Acks: 1}, reports: []worker.Report{{}}}
	}
	for name, change := range map[string]func(*result){
		"nothing read":        func(r *result) { r.verdict.Reads = 0 },
		"nothing invalidated": func(r *result) { r.verdict.Acks = 0 },
		"wrong value":         func(r *result) { r.reports[0].Foreign = 1 },
		"violation":           func(r *result) { r.verdict.Violations = make([]history.Violation, 1) },
		"silent control":      func(r *result) { r.c.Expect = "violations" },
	} {
		r := good()
		if err := r.judge(); err != nil {
			t.Fatalf("judge() of a good run = %v", err)
		}
		if change(r); !errors.Is(r.judge(), setup.ErrFound) {
			t.Errorf("%s: judge() = %v, want %v", name, r.judge(), setup.ErrFound)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{
		"extra", "-fault rain", "-without hope", "-expect nothing", "-workers 0", "-keys -1", "-without lease,hope", "-fault copy -bound 1s", "-duration 1ms", "-db sqlite -without calls", "-bound x",
		"-without cell", "-plain -without triggers", "-plain -db sqlite -without cell", "-plain -fault sentinel", "-plain -fault cluster",
	} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("parse(%q) = nil, want an error", args)
		}
	}
	for _, args := range []string{"-without lease", "-suite ci"} {
		if _, err := parse(strings.Fields(args)); errors.Is(err, errNoControls) == controls {
			t.Errorf("parse(%q) = %v in a build with controls %v", args, err, controls)
		}
	}
}

func TestHealth(t *testing.T) {
	stats := cache.Stats{Log: invalidate.LogStats{Gaps: 1, Bumps: 2, Lapses: 3}}
	r := &result{reports: []worker.Report{{Stats: stats}, {Stats: stats}}}
	if got, want := r.health(), "2/4/6"; got != want {
		t.Errorf("health() = %s, want %s", got, want)
	}
}

func TestTable(t *testing.T) {
	v := history.Check([]history.Event{
		{Type: history.Acked, Kind: history.Tag, Key: 1, Op: 1, Version: 8, Start: 0, End: 1e6},
		{Type: history.Read, Tier: history.Local, Proc: 1, Key: 1, Version: 7, Start: 3.5e6, End: 4e6},
		{Type: history.Ping, End: 5e5},
	}, history.Rules{Bound: time.Second})
	lines := strings.Split(table([]*result{{c: defaults(), verdict: v}}), "\n")
	if got, want := lines[2], "| none | 1s | 0 | 1 | 1 | 0 | 0/0/0 | 0 (**0**) | 1 | 1: 2.5/2.5/2.5 | – | – | – | – | – | 1: 2.5/2.5/2.5 | **0** | – | – | 1/1 | 2 | 0/0/0 |"; got != want {
		t.Errorf("row\n%s\nwant\n%s", got, want)
	}
	if strings.Count(lines[0], "|") != strings.Count(lines[2], "|") {
		t.Errorf("heading and row differ in length:\n%s\n%s", lines[0], lines[2])
	}
}
