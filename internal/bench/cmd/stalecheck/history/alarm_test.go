package history_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
)

// An alarm is false if the write that its first load saw was invalidated in time.
func TestFalseAlarms(t *testing.T) {
	const second = int64(time.Second)
	alarm := history.Event{Type: history.Alarm, Key: 1, Version: 8, Start: 10 * second, End: 13 * second}
	ack := func(version, end int64) history.Event {
		return history.Event{Type: history.Acked, Kind: history.Key, Key: 1, Version: version, Start: end - 1, End: end}
	}
	refused := ack(8, 11*second)
	refused.Type = history.Refused
	other := ack(8, 9*second)
	other.Key = 2
	for name, tt := range map[string]struct {
		events []history.Event
		want   int
	}{
		"invalidated before":              {[]history.Event{ack(8, 9*second)}, 1},
		"invalidated within the bound":    {[]history.Event{ack(8, 11*second)}, 1},
		"the next version within it":      {[]history.Event{ack(9, 11*second)}, 1},
		"invalidated later":               {[]history.Event{ack(8, 11*second+1)}, 0},
		"only an older version":           {[]history.Event{ack(7, 9*second)}, 0},
		"refused":                         {[]history.Event{refused}, 0},
		"forgotten":                       {nil, 0},
		"the invalidation of another key": {[]history.Event{other}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := history.Check(append(tt.events, alarm), history.Rules{Bound: time.Second})
			if v.Alarms != 1 || len(v.FalseAlarms) != tt.want {
				t.Errorf("%d alarms, of which %d are false, want 1 and %d", v.Alarms, len(v.FalseAlarms), tt.want)
			}
		})
	}
	if v := history.NewCourse().Observe([]history.Event{alarm}, history.Rules{Bound: time.Second}); len(v.FalseAlarms) != 1 {
		t.Error("in a database, where a write and its invalidation are one transaction, the alarm is not false")
	}
}
