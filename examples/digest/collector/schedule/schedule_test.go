package schedule_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
)

var noon = time.Date(2026, time.February, 25, 12, 0, 0, 0, time.UTC)

func TestDefaultsAreThoseOfTheTable(t *testing.T) {
	want := map[string]int{
		"twitter_feed": 30, "twitter_list": 30, "twitter_bookmarks": 60, "hackernews": 60, "reddit": 60, "rss": 240,
		"digest_feed": 240, "github_trending": 240, "website": 240, "custom_api": 120,
		"mastodon": 240, // not in the table, but it needs an interval
	}
	for typ, minutes := range want {
		if got := schedule.Intervals(nil).For(typ); got != time.Duration(minutes)*time.Minute {
			t.Errorf("For(%s) = %v, want %d minutes", typ, got, minutes)
		}
	}
}

func TestSetIsStrict(t *testing.T) {
	in, err := schedule.Set(map[string]string{"RSS": "60", "twitter_FEED": "15", "DEFAULT": "90", "GOPHER": "5"}, []string{"gopher"})
	if err != nil {
		t.Fatal(err)
	}
	for typ, want := range map[string]time.Duration{
		"rss": time.Hour, "twitter_feed": 15 * time.Minute, "nobody": 90 * time.Minute, "gopher": 5 * time.Minute, "website": 4 * time.Hour,
	} {
		if got := in.For(typ); got != want {
			t.Errorf("For(%s) = %v, want %v", typ, got, want)
		}
	}
	for _, bad := range []string{"15abc", "0", "-5", "1.5", "", " 15", "15 ", "0x10", "1e3", "+15", "43201", "99999999999"} {
		_, err := schedule.Set(map[string]string{"RSS": bad}, nil)
		if err == nil || !strings.Contains(err.Error(), "FETCH_INTERVAL_RSS") {
			t.Errorf("Set(RSS=%q) = %v, want an error that names the variable", bad, err)
		}
	}
	_, err = schedule.Set(map[string]string{"RSSS": "60", "rss": "5", "RSS": "6", "REDDIT": "x"}, nil)
	for _, name := range []string{"FETCH_INTERVAL_RSSS", "FETCH_INTERVAL_rss", "FETCH_INTERVAL_REDDIT"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

func TestSourceInterval(t *testing.T) {
	for _, tt := range []struct {
		config string
		want   time.Duration
		wrong  bool
	}{
		{``, 4 * time.Hour, false},
		{`{}`, 4 * time.Hour, false},
		{`{"fetch_interval_minutes": null}`, 4 * time.Hour, false},
		{`{"url": "x", "fetch_interval_minutes": 60}`, time.Hour, false},
		{`{"fetch_interval_minutes": 1}`, time.Minute, false},
		{`{"fetch_interval_minutes": 0}`, 4 * time.Hour, true},
		{`{"fetch_interval_minutes": -60}`, 4 * time.Hour, true},
		{`{"fetch_interval_minutes": 1.5}`, 4 * time.Hour, true},
		{`{"fetch_interval_minutes": "60"}`, 4 * time.Hour, true},
		{`{"fetch_interval_minutes": 43201}`, 4 * time.Hour, true},
		{`[]`, 4 * time.Hour, true},
	} {
		got, err := schedule.Intervals(nil).Source("rss", json.RawMessage(tt.config))
		if got != tt.want || (err != nil) != tt.wrong {
			t.Errorf("Source(%s) = %v, %v; want %v, an error: %v", tt.config, got, err, tt.want, tt.wrong)
		}
	}
}

// dice returns a Rand that always returns x.
func dice(x float64) func() float64 { return func() float64 { return x } }

func TestNextAfterSuccess(t *testing.T) {
	const here, there = "https://example.com/b", "https://example.com/c"
	started, ended := noon, noon.Add(20*time.Second)
	state := schedule.State{Every: time.Hour, Failures: 3, MovedTo: here, MovedSeen: 1}
	for _, tt := range []struct {
		name string
		o    schedule.Outcome
		want schedule.Plan
	}{
		// No jitter, and the 20 s of the fetch are not added.
		{"plain", schedule.Outcome{}, schedule.Plan{NextFetchAt: noon.Add(time.Hour)}},
		{"origin asks for less", schedule.Outcome{Wait: time.Minute}, schedule.Plan{NextFetchAt: noon.Add(time.Hour)}},
		{"origin asks for the interval", schedule.Outcome{Wait: time.Hour}, schedule.Plan{NextFetchAt: noon.Add(time.Hour)}},
		{"origin asks for more", schedule.Outcome{Wait: 2 * time.Hour}, schedule.Plan{NextFetchAt: ended.Add(2 * time.Hour), NotBefore: ended.Add(2 * time.Hour)}},
		{"hostile origin", schedule.Outcome{Wait: 10000 * time.Hour}, schedule.Plan{NextFetchAt: ended.Add(24 * time.Hour), NotBefore: ended.Add(24 * time.Hour)}},
		{"moved again", schedule.Outcome{MovedTo: here}, schedule.Plan{NextFetchAt: noon.Add(time.Hour), MovedTo: here, MovedSeen: 2}},
		{"moved elsewhere", schedule.Outcome{MovedTo: there}, schedule.Plan{NextFetchAt: noon.Add(time.Hour), MovedTo: there, MovedSeen: 1}},
	} {
		tt.o.Started, tt.o.Ended = started, ended
		got := schedule.Policy{Rand: dice(0.9)}.Next(state, tt.o)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	state.MovedSeen = 2
	got := schedule.Policy{}.Next(state, schedule.Outcome{Started: started, Ended: ended, MovedTo: here})
	if diff := cmp.Diff(schedule.Plan{NextFetchAt: noon.Add(time.Hour), Adopt: true}, got); diff != "" {
		t.Errorf("the third time (-want +got):\n%s", diff)
	}
}

func TestNextAfterFailure(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   schedule.Policy
		failures int
		o        schedule.Outcome
		wait     time.Duration
		pause    bool
	}{
		{"first, lucky", schedule.Policy{Rand: dice(0)}, 0, schedule.Outcome{}, time.Minute, false},
		{"first, half", schedule.Policy{Rand: dice(0.5)}, 0, schedule.Outcome{}, 15 * time.Minute, false},
		{"second, half", schedule.Policy{Rand: dice(0.5)}, 1, schedule.Outcome{}, 30 * time.Minute, false},
		{"fourth, half", schedule.Policy{Rand: dice(0.5)}, 3, schedule.Outcome{}, 2 * time.Hour, false},
		{"capped", schedule.Policy{Rand: dice(0.5)}, 50, schedule.Outcome{}, 12 * time.Hour, true},
		{"fifth", schedule.Policy{Rand: dice(0)}, 4, schedule.Outcome{}, time.Minute, true},
		{"Retry-After", schedule.Policy{Rand: dice(0)}, 0, schedule.Outcome{Wait: 3 * time.Hour}, 3 * time.Hour, false},
		{"Retry-After is less than the dice say", schedule.Policy{Rand: dice(0.5)}, 0, schedule.Outcome{Wait: time.Second}, 15 * time.Minute, false},
		{"hostile Retry-After", schedule.Policy{Rand: dice(0)}, 0, schedule.Outcome{Wait: 10000 * time.Hour}, 24 * time.Hour, false},
		{"gone", schedule.Policy{Rand: dice(0)}, 0, schedule.Outcome{Gone: true}, time.Minute, true},
		{"probe", schedule.Policy{Rand: dice(0), Probe: 24 * time.Hour}, 4, schedule.Outcome{}, 12 * time.Hour, true},
		{"second probe", schedule.Policy{Rand: dice(1), Probe: 24 * time.Hour}, 5, schedule.Outcome{}, 48 * time.Hour, true},
		{"probe, at most a week", schedule.Policy{Rand: dice(1), Probe: 24 * time.Hour}, 50, schedule.Outcome{}, 7 * 24 * time.Hour, true},
	} {
		tt.o.Failed, tt.o.Started, tt.o.Ended = true, noon, noon.Add(time.Second)
		state := schedule.State{Every: time.Hour, Failures: tt.failures, MovedTo: "x", MovedSeen: 2}
		at := tt.o.Ended.Add(tt.wait)
		want := schedule.Plan{
			NextFetchAt: at, Backoff: at, Failures: tt.failures + 1, Pause: tt.pause, Gone: tt.o.Gone, MovedTo: "x", MovedSeen: 2,
		}
		if diff := cmp.Diff(want, tt.policy.Next(state, tt.o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
