package logtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/suitetest"
	"github.com/twofold-go/twofold/invalidate"
)

// TestLog checks a log against every rule of [invalidate.Log], as a healthy server keeps it. Each
// subtest calls open, which makes a fresh log that shares no record with any other. Open returns a
// function that opens one more handle on that log, as another process would. The handles share only
// the log, and have the same Bound. The suite opens them, and closes them at the end of the subtest.
//
// The log must retain at least 5,000 records of each sequence, and its clock must not go back
// while the suite runs. Only a Tail that finds nothing makes the suite wait, until it returns.
func TestLog(t *testing.T, open func(t *testing.T) func() invalidate.Log) {
	t.Helper()
	suitetest.Run(t, logTests, func(t *testing.T) *logTest { return &logTest{T: t, open: open(t), another: open} })
}

// TestLogInBubble is [TestLog] with each subtest in a testing/synctest bubble, where waiting
// takes no time. It also checks how Tail waits, which needs a bubble. The log must live in the
// process and leave no goroutine behind.
func TestLogInBubble(t *testing.T, open func(t *testing.T) func() invalidate.Log) {
	t.Helper()
	suitetest.InBubble(t, slices.Concat(logTests, bubbleTests), func(t *testing.T) *logTest {
		return &logTest{T: t, open: open(t), another: open, bubble: true}
	})
}

var logTests = []suitetest.Case[*logTest]{
	{"bound is positive and never changes", logBound},
	{"first sync starts an epoch", appends(invalidate.Append{}, invalidate.Append{}, invalidate.Append{})},
	{"first sync appends, too", appends(bothAppend(7))},
	{"another log shares nothing", logsApart},
	{"fences come back as they were appended", appends(everyFence)},
	{"a record holds MaxFences", appends(fences(invalidate.MaxFences))},
	{"a record holds MaxText", appends(texts(invalidate.MaxText))},
	{"more than a record holds is refused", logTooMany},
	{"an append to one sequence leaves the other", appends(tagAppend(1), keyAppend(1), tagAppend(2))},
	{"an empty append appends nothing", appends(
		bothAppend(1), invalidate.Append{}, invalidate.Append{},
		invalidate.Append{Keys: []invalidate.Fence{}, Scopes: []invalidate.Fence{}},
	)},
	{"an append sent again is another record", appends(bothAppend(1), bothAppend(1), bothAppend(1), bothAppend(2))},
	{"numbers are dense across handles", appends(
		bothAppend(0), bothAppend(1), bothAppend(2), bothAppend(3), bothAppend(4), bothAppend(5), bothAppend(6),
	)},
	{"numbers are dense under concurrent appends", logConcurrent},
	{"a page starts after the cursor", logCursor},
	{"pages follow each other without loss or repeat", logPaging},
	{"a caller ahead starts an epoch", standing(true, ahead)},
	{"a new epoch is appended to", logNewEpoch},
	{"a caller that knows other records starts an epoch", standing(true, foreign)},
	{"a caller behind starts nothing", standing(false, behind)},
	{"slices have one owner", logSlices},
	{"sync of a context that has ended", logSyncContext},
	{"clock of the log", logClock},
	{"tail returns the records after its cursor", logTail},
	{"tail returns the appends of another handle", logTailFollows},
	{"tail of nothing", logTailNothing},
	{"tail before the first sync", logTailFirst},
	{"tail of a context that ends", logTailContext},
	{"tail's slices have one owner", logTailSlices},
}

var bubbleTests = []suitetest.Case[*logTest]{
	{"tail waits until there is something", bubbleTail},
}

// patience is how long a healthy log may take. A slower log fails.
const patience = 10 * time.Second

// logTest is one subtest, the log that it tests, and the records that the log must have.
type logTest struct {
	*testing.T
	open    func() invalidate.Log
	another func(t *testing.T) func() invalidate.Log // makes a second log
	bubble  bool
	hooks   invalidate.Hooks

	keys, scopes sequenceModel
}

// handle opens the log as another process does.
func (t *logTest) handle() invalidate.Log {
	l := t.open()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Errorf("Close, twice = %v", err)
		}
	})
	if err := l.Validate(); err != nil {
		t.Fatalf("Validate = %v", err)
	}
	l.Open(t.hooks)
	return l
}

// newReader opens a handle that has read nothing.
func (t *logTest) newReader() *reader { return &reader{t: t, log: t.handle()} }

// reader opens a handle and reads the whole log with it.
func (t *logTest) reader() *reader {
	t.Helper()
	r := t.newReader()
	r.sync(invalidate.Append{})
	return r
}
