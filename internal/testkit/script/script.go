// Package script runs story tests: text files that hold a script above a line
// of four dashes and the trace that it must leave below.
//
//	# One load for a crowd.
//	go crowd*32 get a
//	wait
//	----
//	> go crowd*32 get a
//	  load a
//	> wait
//	  crowd*32: a = 1
//
// A script line is a command, its arguments and its key=value options. Blanks separate words;
// "double" and `back` quotes hold blanks. In both parts, a line that starts with # is a comment,
// and blank lines are ignored.
//
// Every story runs in its own testing/synctest bubble, so time stands still while anything runs.
// After each line the runner waits until every goroutine in the bubble is blocked. Then it records
// what happened:
//
//   - the line itself, after "> ";
//   - what [Env.Printf] reported, in order of time. Concurrent goroutines report in
//     no fixed order, so lines of the same instant are sorted if background commands
//     are running or the command is Unordered;
//   - what the command printed by [Call.Printf], after the events of its instant.
//     Events may come from goroutines that outlive the command.
//
// The test defines the commands. These are built in:
//
//	sleep 5s            let bubble time pass; advance is the same
//	go NAME COMMAND     start a command in the background; its lines show its name
//	go NAME*8 COMMAND   start it eight times; equal lines are shown once, as NAME*8
//	cancel NAME         cancel the context of the background commands of that name
//	wait [NAME...]      wait for background commands; the end of a story waits for all
//
// Run a test with -update to rewrite the traces; comments keep their places.
package script

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

var update = flag.Bool("update", false, "rewrite the expected traces of story tests")

// Setup prepares one story, inside its bubble, and returns its commands. Use t.Cleanup to end what
// it starts: a leaked goroutine fails the story.
type Setup func(t *testing.T, env *Env) map[string]Command

// Run runs every story that matches pattern as a subtest.
func Run(t *testing.T, pattern string, setup Setup) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("script: no story matches %s (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			runFile(t, file, setup)
		})
	}
}

func runFile(t *testing.T, file string, setup Setup) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parse(filepath.ToSlash(file), string(data))
	if err != nil {
		t.Fatal(err)
	}
	var trace []string
	synctest.Test(t, func(t *testing.T) { trace = play(t, s, setup) })
	if t.Failed() {
		return
	}
	diff := compare(s.expected, trace)
	if diff == "" {
		return
	}
	if !*update {
		t.Fatalf("%s: the trace differs (- expected, + got); run with -update to accept it\n%s", file, diff)
	}
	text := s.text + separator + "\n" + strings.Join(merge(s.expected, trace), "\n") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
