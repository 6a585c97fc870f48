package schedule_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/twofold-go/twofold/examples/rsstracker/schedule"
)

// ran returns when a job ran in a bubble's first hours, in minutes since midnight, the bubble's
// start.
func ran(t *testing.T, j schedule.Job, hours int, takes time.Duration) (at []int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if !j.Last.IsZero() {
			j.Last = start.Add(j.Last.Sub(time.Unix(0, 0)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(hours)*time.Hour+time.Minute)
		defer cancel()
		j.Run = func(context.Context) {
			at = append(at, int(time.Since(start)/time.Minute))
			<-time.After(takes)
		}
		schedule.Run(ctx, []schedule.Job{j}, func() time.Time { return time.Now().UTC() })
	})
	return at
}

func every(t *testing.T, spec string) cron.Schedule {
	t.Helper()
	s, err := cron.ParseStandard(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTimes(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Unix(0, 0).Add(-d) }
	for name, tc := range map[string]struct {
		last  time.Time
		takes time.Duration
		want  []int
	}{
		"never ran":         {time.Time{}, 0, []int{0, 120, 240, 360}},
		"ran an hour ago":   {ago(time.Hour), 0, []int{0, 120, 240, 360}}, // the schedule also has midnight
		"ran a moment ago":  {ago(-time.Second), 0, []int{120, 240, 360}},
		"was down for days": {ago(72*time.Hour - time.Minute), 0, []int{0, 120, 240, 360}},
		"takes an hour":     {time.Time{}, time.Hour, []int{0, 120, 240, 360}},
		"takes five hours":  {time.Time{}, 5 * time.Hour, []int{0, 300}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ran(t, schedule.Job{Name: "a", Schedule: every(t, "0 */2 * * *"), Last: tc.last}, 6, tc.takes)
			if !slices.Equal(got, tc.want) {
				t.Errorf("ran at minutes %v, want %v", got, tc.want)
			}
		})
	}
}

// TestJitter: the offset is within the jitter, and the same for every run.
func TestJitter(t *testing.T) {
	later := map[int]bool{}
	for _, name := range []string{"a", "b", "c", "d"} {
		got := ran(t, schedule.Job{Name: name, Schedule: every(t, "0 * * * *"), Jitter: 30 * time.Minute, Last: time.Unix(0, 0).Add(-time.Minute)}, 6, 0)
		if len(got) < 6 {
			t.Fatalf("%s ran at %v", name, got)
		}
		for i, at := range got[1:] {
			if at-got[i] != 60 || at%60 >= 30 {
				t.Errorf("%s ran at %v", name, got)
			}
		}
		later[got[1]%60] = true
	}
	if len(later) < 3 {
		t.Errorf("four jobs are spread over %v", later)
	}
}
