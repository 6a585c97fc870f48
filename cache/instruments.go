package cache

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/meter"
	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// The instruments of a namespace and tenant, of the tiers, of the local tier and of the log.
var (
	ofSpace = []meter.Family[*Counts]{
		{
			Name: "cache.hit", Unit: "{read}", Desc: "Reads answered by a tier.", Attr: "tier", Values: []string{"local", "remote"},
			Get: func(c *Counts) []int64 { return []int64{c.LocalHits, c.RemoteHits} },
		},
		meter.One("cache.miss", "{read}", "Reads that went to the loader.", func(c *Counts) int64 { return c.Misses }),
		meter.One("cache.merge", "{read}", "Reads that waited for another read's fetch or load.", func(c *Counts) int64 { return c.Merged }),
		meter.One("cache.load", "{load}", "Loader calls.", func(c *Counts) int64 { return c.Loads }),
		meter.One("cache.load.error", "{load}", "Loader calls that failed.", func(c *Counts) int64 { return c.LoadErrors }),
		meter.One("cache.load.panic", "{load}", "Loader calls that failed by a panic.", func(c *Counts) int64 { return c.LoadPanics }),
		{
			Name: "cache.load.overtaken", Unit: "{load}", Desc: "Loads during which the key was invalidated.", Attr: "outcome", Values: []string{"repeated", "given_up"},
			Get: func(c *Counts) []int64 { return []int64{c.Reloads, c.Overtaken} },
		},
		{
			Name: "cache.load.refused", Unit: "{load}", Desc: "Fetches and loads that a limit refused.", Attr: "limit", Values: []string{"loads", "flights"},
			Get: func(c *Counts) []int64 { return []int64{c.LoadsRefused, c.FlightsRefused} },
		},
		meter.One("cache.evict", "{entry}", "Entries pushed out of the local tier.", func(c *Counts) int64 { return c.Evictions }),
		meter.One("cache.evict.size", "By", "Memory of the entries pushed out of the local tier.", func(c *Counts) int64 { return c.EvictedBytes }),
		meter.One("cache.negative", "{read}", "Reads answered with a remembered absence or error.", func(c *Counts) int64 { return c.Negatives }),
		{
			Name: "cache.stale_served", Unit: "{read}", Desc: "Stale values served.", Attr: "reason", Values: []string{"revalidate", "error", "timeout"},
			Get: func(c *Counts) []int64 { return []int64{c.StaleRevalidating, c.StaleOnError, c.StaleOnTimeout} },
		},
		{
			Name: "cache.refresh", Unit: "{refresh}", Desc: "Background refreshes.", Attr: "outcome",
			Values: []string{"ok", "adopted", "error", "skipped", "elsewhere"},
			Get: func(c *Counts) []int64 {
				return []int64{c.Refreshes, c.RefreshesAdopted, c.RefreshErrors, c.RefreshesSkipped, c.RefreshesElse}
			},
		},
		{
			Name: "cache.fill", Unit: "{value}", Desc: "Loaded values, by what was done with them.", Attr: "outcome",
			Values: []string{"stored", "lost", "error", "too_large", "unencodable", "tags", "not_admitted", "no_store"},
			Get: func(c *Counts) []int64 {
				return []int64{
					c.Fills, c.FillsLost, c.FillErrors, c.FillsTooLarge, c.FillsUnencodable, c.FillsBadTags,
					c.FillsNotAdmitted, c.FillsNotWanted,
				}
			},
		},
		meter.One("cache.value.many_tags", "{value}", "Values with too many tags, which the invalidation of any tag covers.",
			func(c *Counts) int64 { return c.FillsManyTags }),
		{
			Name: "cache.cell.refused", Unit: "{cell}", Desc: "Remote values that were not served.", Attr: "reason", Values: []string{"corrupt", "foreign", "invalidated"},
			Get: func(c *Counts) []int64 { return []int64{c.CellsCorrupt, c.CellsForeign, c.CellsRefused} },
		},
	}

	ofTiers = []meter.Family[*Stats]{
		{
			Name: "cache.invalidate", Unit: "{scope}", Desc: "Invalidations, and scopes that expired.", Attr: "kind", Values: []string{"key", "prefix", "tag", "everything", "expired"},
			Get: func(s *Stats) []int64 {
				return []int64{s.Kinds.Keys, s.Kinds.Prefixes, s.Kinds.Tags, s.Kinds.All, s.Kinds.Expired}
			},
		},
		meter.One("cache.invalidate.unknown_tenant", "{scope}", "Invalidations for a tenant that no cache of this process has been used for.",
			func(s *Stats) int64 { return s.Kinds.UnknownTenants }),
		{
			Name: "cache.remote.breaker", Unit: "{breaker}", Gauge: true, Desc: "State of the breaker of the remote tier: 1 for the present state, 0 for the others.",
			Attr: "state", Values: breakerStates[:], Get: (*Stats).breaker,
		},
		meter.One("cache.fence.forgotten", "{entry}", "Entries and loads that are not used because a fence that may cover them was forgotten.",
			func(s *Stats) int64 { return s.Fences.Forgotten }),
		meter.One("cache.fence.wait", "{call}", "Invalidations that waited because they came faster than the entries could be judged.",
			func(s *Stats) int64 { return s.Fences.Waits }),
		meter.One("cache.hold.widened", "{hold}", "Holds beyond the limit, which hold more than they name.", func(s *Stats) int64 { return s.Fences.HoldsWidened }),
		{
			Name: "cache.fences", Unit: "{fence}", Gauge: true, Desc: "Invalidations that are remembered exactly.", Attr: "kind", Values: []string{"key", "prefix", "tag"},
			Get: func(s *Stats) []int64 { return []int64{s.Fences.Keys, s.Fences.Prefixes, s.Fences.Tags} },
		},
		meter.Level("cache.holds", "{hold}", "Holds that are kept.", func(s *Stats) int64 { return s.Fences.Holds }),
	}

	// Of a namespace and tenant, and of the removals for several of them.
	ofRemote = []meter.Family[*RemoteStats]{{
		Name: "cache.remote.error", Unit: "{call}", Desc: "Remote calls that failed.", Attr: "op", Values: []string{"get", "claim", "fill", "unlink"},
		Get: func(s *RemoteStats) []int64 {
			return []int64{s.GetErrors, s.ClaimErrors, s.FillErrors, s.UnlinkErrors}
		},
	}}

	ofAudits = []meter.Family[*Audits]{{
		Name: "cache.audit", Unit: "{hit}", Desc: "Hits that were compared with the source.", Attr: "outcome",
		Values: []string{"same", "ended", "stale", "failed", "skipped"},
		Get:    func(a *Audits) []int64 { return []int64{a.Same, a.Ended, a.Stale, a.Failed, a.Skipped} },
	}}

	ofLocal = []meter.Family[LocalStats]{
		meter.Level("cache.local.bytes", "By", "Size of the local tier.", func(s LocalStats) int64 { return s.Bytes }),
		meter.Level("cache.local.entries", "{entry}", "Entries of the local tier.", func(s LocalStats) int64 { return s.Entries }),
	}

	ofLog = []meter.Family[invalidate.LogStats]{
		meter.One("cache.log.gap", "{gap}", "How often records of the log were missing. What they may have covered is not served.",
			func(s invalidate.LogStats) int64 { return s.Gaps }),
		meter.One("cache.log.bump", "{epoch}", "New epochs of the log. The log may have lost its last records.", func(s invalidate.LogStats) int64 { return s.Bumps }),
		meter.One("cache.log.lapse", "{lapse}", "How often the lease ran out.", func(s invalidate.LogStats) int64 { return s.Lapses }),
		{
			Name: "cache.log.error", Unit: "{call}", Desc: "Calls to the log that failed.", Attr: "op", Values: []string{"sync", "tail"},
			Get: func(s invalidate.LogStats) []int64 { return []int64{s.SyncErrors, s.TailErrors} },
		},
		meter.Age("cache.lease.age", "Time since the lease was last confirmed; -1 if it never was.",
			func(s invalidate.LogStats) time.Duration { return s.LeaseAge }),
		meter.Level("cache.pending", "{scope}", "Invalidations that wait because the log or the remote tier cannot be reached.",
			func(s invalidate.LogStats) int64 { return s.Pending }),
		meter.Age("cache.pending.age", "How long the oldest of them has waited; 0 if none does.",
			func(s invalidate.LogStats) time.Duration { return s.PendingAge }),
	}
)

// breakerStates are the values of RemoteStats.Breaker.
var breakerStates = [...]string{"closed", "half-open", "open"}

// breaker returns 1 for the breaker's state and 0 for the others. Without a remote tier it
// returns nothing.
func (s *Stats) breaker() []int64 {
	if s.Remote.Breaker == "" {
		return nil
	}
	var n [len(breakerStates)]int64
	for i, state := range breakerStates {
		if state == s.Remote.Breaker {
			n[i] = 1
		}
	}
	return n[:]
}

// Stats returns the numbers so far. It reads them one by one while other goroutines count. So
// two of them may differ by what happened between their readings.
func (t *Tiers) Stats() Stats {
	var s Stats
	t.mu.Lock()
	all := slices.Collect(maps.Values(t.counts))
	t.mu.Unlock()
	s.Remote = t.all.remote()
	total := reflect.ValueOf(&s.Total).Elem()
	for _, c := range all {
		n, failed, audits := c.counts(), c.remote(), c.audits()
		s.Spaces = append(s.Spaces, SpaceStats{Namespace: c.space.Namespace, Tenant: c.space.Tenant, Counts: n, Audits: audits, Remote: failed})
		s.Audits = s.Audits.plus(audits)
		s.Remote.GetErrors += failed.GetErrors
		s.Remote.ClaimErrors += failed.ClaimErrors
		s.Remote.FillErrors += failed.FillErrors
		s.Remote.UnlinkErrors += failed.UnlinkErrors
		for i, f := range reflect.ValueOf(n).Fields() {
			sum := total.FieldByIndex(i.Index)
			sum.SetInt(sum.Int() + f.Int())
		}
	}
	slices.SortFunc(s.Spaces, func(a, b SpaceStats) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Tenant, b.Tenant))
	})
	n := func(c stat) int64 { return t.all.n[c].Load() }
	s.Kinds = InvalidationStats{
		Keys: n(invalidatedKeys), Prefixes: n(invalidatedPrefixes), Tags: n(invalidatedTags), All: n(invalidatedAll), Expired: n(scopesExpired),
		UnknownTenants: n(invalidatedStrangers),
	}
	if t.remote != nil {
		s.Remote.Breaker = t.remote.Breaker()
	}
	if m, ok := unwrap.As[tier.Meter](t.local); ok {
		s.Local.Bytes, s.Local.Entries = m.Usage()
	}
	s.Fences = t.fences.Stats()
	if t.follower != nil {
		s.Log = t.follower.Stats()
	}
	return s
}
