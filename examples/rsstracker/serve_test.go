package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"
)

// ran returns when runs begin in a bubble's first six hours, in minutes since midnight, the bubble's
// start. ago is the time since the last run; negative: there was none.
func ran(t *testing.T, ago, takes time.Duration) (at []int) {
	t.Helper()
	times, err := cron.ParseStandard("0 */2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Hour+time.Minute)
		defer cancel()
		last := start.Add(-ago)
		if ago < 0 {
			last = time.Time{}
		}
		repeat(ctx, times, last, func() {
			at = append(at, int(time.Since(start)/time.Minute))
			<-time.After(takes)
		})
	})
	return at
}

func TestTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		ago, takes time.Duration
		want       []int
	}{
		"never ran":         {-1, 0, []int{0, 120, 240, 360}},
		"ran an hour ago":   {time.Hour, 0, []int{0, 120, 240, 360}}, // the schedule also has midnight
		"ran a moment ago":  {0, 0, []int{120, 240, 360}},
		"was down for days": {72*time.Hour - time.Minute, 0, []int{0, 120, 240, 360}},
		"takes an hour":     {-1, time.Hour, []int{0, 120, 240, 360}},
		"takes five hours":  {-1, 5 * time.Hour, []int{0, 300}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ran(t, tc.ago, tc.takes); !slices.Equal(got, tc.want) {
				t.Errorf("ran at minutes %v, want %v", got, tc.want)
			}
		})
	}
}
