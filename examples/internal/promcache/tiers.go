package promcache

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// Tiers returns a collector of the numbers of a [cache.Tiers], which stats returns:
// its method Stats, as a rule. All metrics have the label tiers with the name, so
// that a program with several registers a collector for each; with an empty name
// there is no such label.
//
// What is about a remote tier or a log is there only if the tiers have one. stats
// must not be nil, and is called by each scrape; scrapes may be concurrent.
func Tiers(name string, stats func() cache.Stats) prometheus.Collector {
	constant := named("tiers", name)
	return &tiers{
		stats:  stats,
		spaces: describe(spaceFamilies, []string{"cache_namespace", "cache_tenant"}, constant),
		whole:  describe(wholeFamilies, nil, constant),
		remote: describe(remoteFamilies, nil, constant),
		log:    describe(logFamilies, nil, constant),
	}
}

type tiers struct {
	stats  func() cache.Stats
	spaces []described[cache.Counts]
	whole  []described[cache.Stats]
	remote []described[cache.RemoteStats]
	log    []described[invalidate.LogStats]
}

// Describe sends what the metrics are.
func (t *tiers) Describe(to chan<- *prometheus.Desc) {
	for i := range t.spaces {
		to <- t.spaces[i].desc
	}
	for i := range t.whole {
		to <- t.whole[i].desc
	}
	for i := range t.remote {
		to <- t.remote[i].desc
	}
	for i := range t.log {
		to <- t.log[i].desc
	}
}

// Collect sends the metrics as they are now.
func (t *tiers) Collect(to chan<- prometheus.Metric) {
	s := t.stats()
	for i := range t.spaces {
		for j := range s.Spaces {
			space := &s.Spaces[j]
			t.spaces[i].collect(to, &space.Counts, space.Namespace, space.Tenant)
		}
	}
	for i := range t.whole {
		t.whole[i].collect(to, &s)
	}
	if s.Remote.Breaker != "" {
		for i := range t.remote {
			t.remote[i].collect(to, &s.Remote)
		}
	}
	if s.Log != (invalidate.LogStats{}) {
		for i := range t.log {
			t.log[i].collect(to, &s.Log)
		}
	}
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

func floats(n ...int64) []float64 {
	f := make([]float64, len(n))
	for i := range n {
		f[i] = float64(n[i])
	}
	return f
}

// wholeFamilies are about a set of tiers and not about one of its namespaces.
var wholeFamilies = []family[cache.Stats]{
	{
		"cache_invalidate_total", "Invalidations.", counter, "kind", []string{"key", "prefix", "tag"},
		func(s *cache.Stats) []float64 { return floats(s.Kinds.Keys, s.Kinds.Prefixes, s.Kinds.Tags) },
	},
	{"cache_local_bytes", "Size of the local tier.", gauge, "", nil, one(func(s *cache.Stats) int64 { return s.Local.Bytes })},
	{"cache_local_entries", "Entries of the local tier.", gauge, "", nil, one(func(s *cache.Stats) int64 { return s.Local.Entries })},
}

var remoteFamilies = []family[cache.RemoteStats]{
	{
		"cache_remote_error_total", "Remote calls that failed.", counter, "op", []string{"get", "claim", "fill", "unlink"},
		func(s *cache.RemoteStats) []float64 {
			return floats(s.GetErrors, s.ClaimErrors, s.FillErrors, s.UnlinkErrors)
		},
	},
	{
		"cache_remote_breaker", "State of the breaker in front of the remote tier: 1 for the one that it is in.", gauge,
		"state", []string{"closed", "half-open", "open"},
		func(s *cache.RemoteStats) []float64 {
			return []float64{flag(s.Breaker == "closed"), flag(s.Breaker == "half-open"), flag(s.Breaker == "open")}
		},
	},
}

func flag(up bool) float64 {
	if up {
		return 1
	}
	return 0
}

var logFamilies = []family[invalidate.LogStats]{
	{
		"cache_log_gap_total", "Times records of the log were missing, and what they may have covered was given up.",
		counter, "", nil, one(func(s *invalidate.LogStats) int64 { return s.Gaps }),
	},
	{
		"cache_log_bump_total", "Epochs of the log that began: it may have lost its end.",
		counter, "", nil, one(func(s *invalidate.LogStats) int64 { return s.Bumps }),
	},
	{"cache_log_lapse_total", "Times the lease ran out.", counter, "", nil, one(func(s *invalidate.LogStats) int64 { return s.Lapses })},
	{
		"cache_log_error_total", "Calls to the log that failed.", counter, "op", []string{"sync", "tail"},
		func(s *invalidate.LogStats) []float64 { return floats(s.SyncErrors, s.TailErrors) },
	},
	{
		"cache_lease_age_seconds", "Time since the lease was last confirmed; -1 if it never was.", gauge, "", nil,
		func(s *invalidate.LogStats) []float64 {
			if s.LeaseAge < 0 {
				return []float64{-1}
			}
			return []float64{s.LeaseAge.Seconds()}
		},
	},
	{
		"cache_pending", "Invalidations that wait for a log, or a remote tier, out of reach.",
		gauge, "", nil, one(func(s *invalidate.LogStats) int64 { return s.Pending }),
	},
	{
		"cache_pending_age_seconds", "How long the oldest of them has waited; 0 if none does.", gauge, "", nil,
		func(s *invalidate.LogStats) []float64 { return []float64{s.PendingAge.Seconds()} },
	},
}
