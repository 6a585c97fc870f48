package collector_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/schedule"
)

// sameIntervals compares two tables by their results.
func sameIntervals(a, b schedule.Intervals) bool {
	for _, typ := range []string{"rss", "hackernews", "twitter_feed", "custom_api", "mastodon", "none"} {
		if a.For(typ) != b.For(typ) {
			return false
		}
	}
	return true
}

// C-E7: settings that parseInt would accept.
func TestSettingsAreStrict(t *testing.T) {
	good := map[string]string{
		"COLLECTOR_TICK": "30", "COLLECTOR_CONCURRENCY": "3", "COLLECTOR_PER_HOST": "1", "COLLECTOR_PROBE_HOURS": "24",
		"FETCH_INTERVAL_RSS": "60", "fetch_interval_default": "90", "FETCH_INTERVAL_REDDIT": "", "FETCH_INTERVAL_": "x",
	}
	got, err := collector.SettingsFrom(good, nil)
	want := collector.Settings{
		Tick: 30 * time.Second, Concurrency: 3, PerHost: 1, Probe: 24 * time.Hour,
		Intervals: intervals(t, map[string]string{"RSS": "60", "DEFAULT": "90"}),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(sameIntervals)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	bad := map[string]string{
		"COLLECTOR_TICK": "60s", "COLLECTOR_INTERVAL": "0", "COLLECTOR_CONCURRENCY": "-1", "COLLECTOR_PER_HOST": "1.5",
		"COLLECTOR_PROBE_HOURS": "never", "FETCH_INTERVAL_RSS": "15abc", "FETCH_INTERVAL_RSSS": "15",
	}
	_, err = collector.SettingsFrom(bad, nil)
	for name := range bad {
		if err == nil || !strings.Contains(err.Error(), name+":") {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	if _, err := collector.SettingsFrom(map[string]string{"FETCH_INTERVAL_MASTODON": "15"}, []string{"mastodon"}); err != nil {
		t.Errorf("a type with a fetcher: %v", err)
	}
}

func TestEnvOfTheProcessWins(t *testing.T) {
	got, err := collector.ReadEnv(strings.NewReader("# comment\n\nexport A=1\nB = \"two words\"\nC='x'\nD=a=b#c\n"), []string{"A=2", "E=5", "broken"})
	want := map[string]string{"A": "2", "B": "two words", "C": "x", "D": "a=b#c", "E": "5"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := collector.ReadEnv(strings.NewReader("A=1\nno equals sign"), nil); err == nil || strings.Contains(err.Error(), "equals") {
		t.Errorf("ReadEnv of a bad line = %v, want an error that does not quote it", err)
	}
}
