package history_test

import (
	"testing"
	"time"

	. "github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
)

// source returns a source of one key: version 5, then 8 from the sample at 200 on, restored to 5 in
// the sample at 300, then 9 in the sample at 500. Version 6 existed between two samples.
func source() *Course {
	c := NewCourse()
	for i, v := range []int64{5, 5, 8, 5, 5, 9, 9} {
		start := int64(i * 100)
		c.Sample(start, start+10, []int64{v})
	}
	return c
}

func TestObserve(t *testing.T) {
	const bound = 50
	read := func(version, start int64) Event {
		return Event{Type: Read, Proc: 1, Version: version, Start: start, End: start + 1}
	}
	acked := func(proc uint8, version, end int64) Event {
		return Event{Type: Acked, Proc: proc, Version: version, Start: end - 1, End: end}
	}
	committed := acked(1, 9, 480)
	committed.Type = Committed
	for name, test := range map[string]struct {
		events  []Event
		settled bool
		want    int
	}{
		"what is there":                        {events: []Event{read(5, 90)}},
		"old, within the bound":                {events: []Event{read(8, 360)}}, // gone at 310
		"old, beyond the bound":                {events: []Event{read(8, 361)}, want: 1},
		"back again":                           {events: []Event{read(5, 420)}},
		"back again, before a sample shows it": {events: []Event{read(5, 290)}},
		"gone for good":                        {events: []Event{read(5, 561)}, want: 1}, // gone at 510
		"unseen, and first read late":          {events: []Event{read(6, 130)}},
		"unseen, beyond the bound":             {events: []Event{read(6, 130), read(6, 261)}, want: 1}, // gone at 210
		"the own process was told":             {events: []Event{acked(1, 9, 450), read(5, 460)}, want: 1},
		"... and reads it":                     {events: []Event{acked(1, 9, 450), read(9, 460)}},
		"another process was told":             {events: []Event{acked(2, 9, 450), read(5, 460)}},
		"nobody was told":                      {events: []Event{committed, read(5, 490)}},
		"told of what is lost":                 {events: []Event{acked(1, 8, 250), read(5, 400)}},
		"told of what came back later":         {events: []Event{acked(1, 5, 100), read(8, 320)}},
		"told of an older one afterwards":      {events: []Event{acked(1, 9, 450), acked(1, 8, 470), read(5, 480)}, want: 1},
		"settled":                              {events: []Event{acked(2, 9, 450), read(5, 460)}, settled: true, want: 1},
		"settled, read before":                 {events: []Event{acked(2, 9, 450), read(5, 440)}, settled: true},
		"settled, beyond the bound":            {events: []Event{read(8, 361)}, settled: true, want: 1},
	} {
		v := source().Observe(test.events, Rules{Bound: bound * time.Nanosecond, Settled: test.settled})
		if len(v.Violations) != test.want {
			t.Errorf("%s: %d violations, want %d: %+v", name, len(v.Violations), test.want, v.Violations)
		}
	}
}

// A violation reports how late the read was, and the version that had replaced the returned one.
func TestObserveTells(t *testing.T) {
	c := source()
	v := c.Observe([]Event{{Type: Read, Version: 8, Start: 400, End: 401, Tier: Local}, {Type: Read, Version: 6, Start: 410, End: 420}}, Rules{Bound: 50})
	if len(v.Violations) != 1 || v.Violations[0].Staleness != 90 || v.Violations[0].Ack.Version != 5 || v.Violations[0].Limit != 50 {
		t.Errorf("violations %+v, want one, 90 ns after version 5 came", v.Violations)
	}
	if v.Reads != 2 || v.Unseen != 1 || v.Stale != 1 || len(v.ByTier[Local]) != 1 {
		t.Errorf("verdict %+v, want 2 reads, 1 unseen, 1 stale from the local tier", v)
	}
}
