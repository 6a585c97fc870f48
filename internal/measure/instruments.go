package measure

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// family returns a counter whose values of attr are counted by stats.
func family(name, unit, desc, attr string, values []string, stats ...Stat) Family[*Numbers] {
	return Family[*Numbers]{Name: name, Unit: unit, Desc: desc, Attr: attr, Values: values, Get: func(n *Numbers) []int64 {
		counts := make([]int64, len(stats))
		for i, s := range stats {
			counts[i] = n[s]
		}
		return counts
	}}
}

// single returns a counter of one stat.
func single(name, unit, desc string, s Stat) Family[*Numbers] {
	return One(name, unit, desc, func(n *Numbers) int64 { return n[s] })
}

// The instruments of a namespace and tenant, of the tiers, of the local tier and of the log.
var (
	ofSpace = []Family[*Numbers]{
		family("cache.hit", "{read}", "Reads answered by a tier.", "tier", []string{"local", "remote"}, HitsLocal, HitsRemote),
		single("cache.miss", "{read}", "Reads that went to the loader.", Misses),
		single("cache.merge", "{read}", "Reads that waited for another read's fetch or load.", Merges),
		single("cache.load", "{load}", "Loader calls.", Loads),
		single("cache.load.error", "{load}", "Loader calls that failed.", LoadFailed),
		single("cache.load.panic", "{load}", "Loader calls that failed by a panic.", LoadPanics),
		family("cache.load.overtaken", "{load}", "Loads during which the key was invalidated.", "outcome", []string{"repeated", "given_up"}, Reloads, Overtaken),
		family("cache.load.refused", "{load}", "Fetches and loads that a limit refused.", "limit", []string{"loads", "flights"}, LoadRefused, FlightRefused),
		single("cache.evict", "{entry}", "Entries pushed out of the local tier.", Evictions),
		single("cache.evict.size", "By", "Memory of the entries pushed out of the local tier.", EvictedBytes),
		single("cache.negative", "{read}", "Reads answered with a remembered absence or error.", Negatives),
		family("cache.stale_served", "{read}", "Stale values served.", "reason", []string{"revalidate", "error", "timeout"}, StaleRevalidate, StaleError, StaleTimeout),
		family("cache.refresh", "{refresh}", "Background refreshes.", "outcome", []string{"ok", "adopted", "error", "skipped", "elsewhere", "declined"},
			RefreshOK, RefreshAdopted, RefreshFailed, RefreshSkipped, RefreshElsewhere, RefreshDeclined),
		family("cache.fill", "{value}", "Loaded values, by what was done with them.", "outcome",
			[]string{"stored", "lost", "error", "too_large", "unencodable", "tags", "not_admitted", "replica_lag", "no_store"},
			FillStored, FillLost, FillFailed, FillTooLarge, FillUnencodable, FillTags, FillNotAdmitted, FillReplicaLag, FillNoStore),
		single("cache.value.many_tags", "{value}", "Values with too many tags, which the invalidation of any tag covers.", FillManyTags),
		family("cache.cell.refused", "{cell}", "Remote values that were not served.", "reason", []string{"corrupt", "foreign", "unauthentic", "untagged", "invalidated"}, CellCorrupt, CellForeign, CellUnauthentic, CellUntagged, CellRefused),
		family("cache.audit", "{hit}", "Hits that were compared with the source.", "outcome", []string{"same", "ended", "stale", "failed", "skipped"},
			AuditsSame, AuditsEnded, AuditsStale, AuditsFailed, AuditsSkipped),
	}

	// Of a namespace and tenant, and of the removals for several of them.
	ofRemote = []Family[*Numbers]{
		family("cache.remote.error", "{call}", "Remote calls that failed.", "op", []string{"get", "claim", "fill", "remove"},
			RemoteErrGet, RemoteErrClaim, RemoteErrFill, RemoteErrRemove),
	}

	ofRest = []Family[*Numbers]{
		family("cache.invalidate", "{scope}", "Invalidations, and scopes that expired.", "kind", []string{"key", "prefix", "tag", "everything", "expired"},
			InvalidatedKeys, InvalidatedPrefixes, InvalidatedTags, InvalidatedAll, ScopesExpired),
	}

	ofTiers = []Family[*Snapshot]{
		{
			Name: "cache.remote.breaker", Unit: "{breaker}", Gauge: true, Desc: "State of the breaker of the remote tier: 1 for the present state, 0 for the others.",
			Attr: "state", Values: breakerStates, Get: (*Snapshot).breaker,
		},
		One("cache.fence.forgotten", "{entry}", "Loads and entries that are not used because an invalidation that may cover them was forgotten.",
			func(s *Snapshot) int64 { return s.Fences.Forgotten }),
		{
			Name: "cache.fences", Unit: "{fence}", Gauge: true, Desc: "Invalidations that are remembered exactly.", Attr: "kind", Values: []string{"key", "prefix", "tag"},
			Get: func(s *Snapshot) []int64 { return []int64{s.Fences.Keys, s.Fences.Prefixes, s.Fences.Tags} },
		},
	}

	ofLocal = []Family[*Snapshot]{
		Level("cache.local.bytes", "By", "Size of the local tier.", func(s *Snapshot) int64 { return s.Local.Bytes }),
		Level("cache.local.entries", "{entry}", "Entries of the local tier.", func(s *Snapshot) int64 { return s.Local.Entries }),
	}

	ofLog = []Family[invalidate.LogStats]{
		One("cache.log.gap", "{gap}", "How often records of the log were missing. What they may have covered is not served.",
			func(s invalidate.LogStats) int64 { return s.Gaps }),
		One("cache.log.bump", "{epoch}", "New epochs of the log. The log may have lost its last records.", func(s invalidate.LogStats) int64 { return s.Bumps }),
		One("cache.log.lapse", "{lapse}", "How often the lease ran out.", func(s invalidate.LogStats) int64 { return s.Lapses }),
		{
			Name: "cache.log.error", Unit: "{call}", Desc: "Calls to the log that failed.", Attr: "op", Values: []string{"sync", "tail"},
			Get: func(s invalidate.LogStats) []int64 { return []int64{s.SyncErrors, s.TailErrors} },
		},
		Age("cache.lease.age", "Time since the lease was last confirmed; -1 if it never was.",
			func(s invalidate.LogStats) time.Duration { return s.LeaseAge }),
		Level("cache.pending", "{scope}", "Invalidations that wait because the log or the remote tier cannot be reached.",
			func(s invalidate.LogStats) int64 { return s.Pending }),
		Age("cache.pending.age", "How long the oldest of them has waited; 0 if none does.",
			func(s invalidate.LogStats) time.Duration { return s.PendingAge }),
	}
)
