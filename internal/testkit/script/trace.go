package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Env is the environment of one story.
type Env struct {
	start time.Time

	mu      sync.Mutex // protects pending
	pending []entry    // reported since the last flush
}

// entry is one reported line.
type entry struct {
	at   time.Time
	kind entryKind
	name string // of the background group that printed it
	text string
}

type entryKind uint8

const (
	event   entryKind = iota // from any goroutine
	outcome                  // of a command
)

// Printf adds lines to the trace. Any goroutine of the story may call it.
func (e *Env) Printf(format string, args ...any) { e.add(event, "", format, args) }

// Elapsed returns the bubble's time since the story began.
func (e *Env) Elapsed() time.Duration { return time.Since(e.start) }

func (e *Env) add(kind entryKind, name, format string, args []any) {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		e.pending = append(e.pending, entry{at: time.Now(), kind: kind, name: name, text: l})
	}
}

// flush returns what was reported since the last flush, in the order that the package comment
// promises.
func (e *Env) flush(unordered bool) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.SortStableFunc(e.pending, func(a, b entry) int {
		c := cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind))
		if c == 0 && unordered {
			c = cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.text, b.text))
		}
		return c
	})
	var lines []string
	for i := 0; i < len(e.pending); {
		first, n := e.pending[i], 0
		for ; i < len(e.pending) && e.pending[i] == first && (n == 0 || first.name != ""); i++ {
			n++
		}
		if l := first.line(n); l != "" {
			lines = append(lines, l)
		}
	}
	e.pending = e.pending[:0]
	return lines
}

// line formats an entry that was reported n times.
func (e entry) line(n int) string {
	prefix := ""
	switch {
	case n > 1:
		prefix = fmt.Sprintf("%s*%d: ", e.name, n)
	case e.name != "":
		prefix = e.name + ": "
	}
	return strings.TrimRight("  "+prefix+e.text, " \t\r")
}
