package logtest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// TestLog checks a log against every rule of [invalidate.Log], as a healthy server keeps it. Each
// subtest calls open, which makes a fresh log that shares no record with any other. Open returns a
// function that opens one more handle on that log, as another process would. The handles share only
// the log, and have the same Bound. The suite closes handles that have a Close method at the end of
// the subtest.
//
// The log must retain at least 5,000 records of each sequence, and its clock must not go back
// while the suite runs. Only a Tail that finds nothing makes the suite wait, until it returns.
func TestLog(t *testing.T, open func(t *testing.T) func() invalidate.Log) {
	t.Helper()
	for _, tc := range logTests {
		t.Run(tc.name, func(t *testing.T) { tc.test(&logTest{T: t, open: open(t)}, open) })
	}
}

// TestLogInBubble is [TestLog] with each subtest in a testing/synctest bubble, where waiting
// takes no time. It also checks how Tail waits, which needs a bubble. The log must live in the
// process and leave no goroutine behind.
func TestLogInBubble(t *testing.T, open func(t *testing.T) func() invalidate.Log) {
	t.Helper()
	for _, tc := range slices.Concat(logTests, bubbleTests) {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tc.test(&logTest{T: t, open: open(t)}, open) })
		})
	}
}

type opener = func(t *testing.T) func() invalidate.Log

type subtest struct {
	name string
	test func(t *logTest, open opener)
}

var logTests = []subtest{
	{"bound is positive and never changes", alone(logBound)},
	{"first sync starts an epoch", alone(logFirstSync)},
	{"first sync appends, too", alone(logFirstAppend)},
	{"only one of many first syncs starts an epoch", alone(logFirstSyncs)},
	{"another log shares nothing", logsApart},
	{"fences come back as they were appended", alone(logFences)},
	{"a record holds MaxFences", alone(logMaxFences)},
	{"more than MaxFences is refused", alone(logTooMany)},
	{"an append to one sequence leaves the other", alone(logOneSequence)},
	{"an empty append appends nothing", alone(logEmptyAppend)},
	{"an append sent again is another record", alone(logResent)},
	{"names come back as they were appended", alone(logNames)},
	{"names that are too long are dropped", alone(logLongNames)},
	{"numbers are dense across handles", alone(logDense)},
	{"numbers are dense under concurrent appends", alone(logConcurrent)},
	{"a page starts after the cursor", alone(logCursor)},
	{"pages follow each other without loss or repeat", alone(logPaging)},
	{"a caller ahead starts an epoch", alone(logAhead)},
	{"a new epoch is appended to", alone(logNewEpoch)},
	{"a caller that knows other records starts an epoch", alone(logForeign)},
	{"ids are never repeated", alone(logIDs)},
	{"a caller behind starts nothing", alone(logBehind)},
	{"slices have one owner", alone(logSlices)},
	{"sync of a context that has ended", alone(logSyncContext)},
	{"clock of the log", alone(logClock)},
	{"tail returns the records after its cursor", alone(logTail)},
	{"tail returns the appends of another handle", alone(logTailFollows)},
	{"tail of nothing", alone(logTailNothing)},
	{"tail before the first sync", alone(logTailFirst)},
	{"tail of a context that ends", alone(logTailContext)},
	{"tail's slices have one owner", alone(logTailSlices)},
}

var bubbleTests = []subtest{
	{"tail waits until there is something", alone(bubbleTail)},
	{"tail ends at once with its context", alone(bubbleTailContext)},
}

// alone makes a subtest that needs no second log.
func alone(test func(t *logTest)) func(*logTest, opener) {
	return func(t *logTest, _ opener) { test(t) }
}

// patience is how long a healthy log may take. A slower log fails.
const patience = 10 * time.Second

// logTest is one subtest, and the log that it tests.
type logTest struct {
	*testing.T
	open func() invalidate.Log
}

// handle opens the log as another process does.
func (t *logTest) handle() invalidate.Log {
	l := t.open()
	switch c := l.(type) {
	case interface{ Close() error }:
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		})
	case interface{ Close() }:
		t.Cleanup(c.Close)
	}
	return l
}

// reader opens a handle and reads the whole log with it.
func (t *logTest) reader() *reader {
	t.Helper()
	r := &reader{t: t, log: t.handle()}
	r.sync(invalidate.Append{})
	return r
}
