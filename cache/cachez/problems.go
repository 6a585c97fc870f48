package cachez

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// problem is something that is wrong: now, or in the span of the rates. The limits are those of the alert
// rules in examples/observability.
type problem struct {
	Namespace string   `json:"namespace,omitempty"`
	Tenants   []string `json:"tenants,omitempty"` // empty means all, or the only one
	Text      string   `json:"text"`
}

// rules are what can be wrong with a namespace or tenant. A rule returns "" if nothing is.
var rules = []func(recent *cache.SpaceStats) string{
	func(n *cache.SpaceStats) string {
		if n.Loads.Errors == 0 || n.Loads.Errors*10 < n.Loads.Calls {
			return ""
		}
		return fmt.Sprintf("its source fails: %s of %s failed", grouped(n.Loads.Errors), several(n.Loads.Calls, "load"))
	},
	func(n *cache.SpaceStats) string {
		return howMany(n.Loads.Panics, "load", "%s panicked")
	},
	func(n *cache.SpaceStats) string {
		return howMany(n.Loads.Refused, "load", "%s got no turn, because of MaxLoads: the source is slow, or there are too many misses")
	},
	func(n *cache.SpaceStats) string {
		return howMany(n.Reads.Refused, "read", "%s got no turn, because of MaxFlights: the source or the remote tier is slow")
	},
	func(n *cache.SpaceStats) string {
		return howMany(n.Reads.StaleOnError, "read", "%s got an old value, because loads fail")
	},
	func(n *cache.SpaceStats) string {
		c := n.Cells
		c.Invalidated = 0 // as it should be
		if why := cellsOf(c); why != "" {
			return "values of the remote tier cannot be read, " + why
		}
		return ""
	},
	func(n *cache.SpaceStats) string {
		f := n.Fills
		if why := numbersOf(cache.FillCounts{Errors: f.Errors, TooLarge: f.TooLarge, Unencodable: f.Unencodable, BadTags: f.BadTags}).String(); why != "" {
			return "loaded values are not stored: " + why
		}
		return ""
	},
}

// howMany returns the text with the number of things in place of %s, or "" if there are none.
func howMany(n int64, thing, text string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(text, several(n, thing))
}

// several returns "1 load" or "2 loads".
func several(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return grouped(n) + " " + thing + "s"
}

// problems returns what is wrong, that of all namespaces first.
func (h *handler) problems(now, before *snapshot, spaces []space) []problem {
	all := []problem{}
	say := func(text string) {
		if text != "" {
			all = append(all, problem{Text: text})
		}
	}
	span := now.at.Sub(before.at)
	logProblems(&now.stats.Log, &before.stats.Log, span, say)
	remoteProblems(now, before, say)
	if h.Pages != nil {
		say(howMany(now.pages.PendingWrites-before.pages.PendingWrites, "write", "%s through the cache of responses succeeded, but the invalidation did not reach the log in time"))
		say(howMany(now.pages.Refused["unavailable"]-before.pages.Refused["unavailable"], "request", "%s got 503 or 504, because there was no response, or were cut"))
	}
	all = append(all, h.staleAudits(now, spaces)...)
	for _, rule := range rules {
		for _, sp := range spaces {
			if p, ok := judge(&sp, rule); ok {
				all = append(all, p)
			}
		}
	}
	all = append(all, h.policyProblems()...)
	if h.Index != nil {
		say(howMany(int64(h.Index.Stats().Missing), "key", "The index has no room for %s, so look-ups are not complete"))
	}
	return all
}

// judge applies a rule to each tenant, and then to the sum of the tenants that it finds.
func judge(sp *space, rule func(*cache.SpaceStats) string) (p problem, ok bool) {
	var sum cache.SpaceStats
	for i := range sp.tenants {
		if n := &sp.tenants[i].recent; rule(n) != "" {
			add(&sum, n, 1)
			p.Tenants = append(p.Tenants, n.Tenant)
		}
	}
	if len(p.Tenants) == len(sp.tenants) {
		p.Tenants = nil
	}
	p.Namespace, p.Text = sp.all.Namespace, rule(&sum)
	return p, p.Text != ""
}

func logProblems(now, before *invalidate.LogStats, span time.Duration, say func(string)) {
	if *now == (invalidate.LogStats{}) {
		return // no log
	}
	switch {
	case now.LeaseAge < 0:
		say("There is no lease: the log has not answered since the start, so nothing cached is served")
	case now.LeaseLeft == 0:
		say("There is no lease: the log has not answered for " + short(now.LeaseAge) + ", so this process serves only what it loaded a moment ago")
	}
	if now.Pending > 0 {
		say("Invalidations wait for the log or the remote tier, so other processes may not have them: " + several(now.Pending, "scope") + ", the oldest for " + short(now.PendingAge))
	}
	if failed := now.SyncErrors + now.TailErrors - before.SyncErrors - before.TailErrors; rate(failed, span) > 0.1 {
		say(several(failed, "call") + " to the log failed")
	}
	say(howMany(now.Gaps-before.Gaps, "time", "Records of the log were missing %s: what they may concern is dropped"))
	say(howMany(now.Damaged-before.Damaged, "record", "%s of the log cannot be decoded: what they may concern is dropped"))
	say(howMany(now.Bumps-max(before.Bumps, 1), "time", "A new epoch of the log began %s, and everything cached was dropped")) // the first one is the start
}

func remoteProblems(now, before *snapshot, say func(string)) {
	if b := now.stats.Remote.Breaker; b == "open" || b == "half-open" {
		say("The remote tier does not answer: its breaker is " + b + ", and this process works without it")
	}
	n, total := now.stats.Remote, now.stats.Total
	add(&n, &before.stats.Remote, -1)
	add(&total, &before.stats.Total, -1)
	n.Breaker = ""
	failed := n.GetErrors + n.ClaimErrors + n.FillErrors + n.RemoveErrors
	if failed > 0 && failed*20 > total.Reads.RemoteHits+total.Reads.Misses {
		say(several(failed, "call") + " to the remote tier failed: " + numbersOf(n).String())
	}
}

// staleAudits returns the namespaces with stale hits since the start: the cause is in the program, and does
// not go away.
func (h *handler) staleAudits(now *snapshot, spaces []space) (all []problem) {
	hits := h.tiers.StaleHits() // the latest first
	for _, sp := range spaces {
		a := sp.all.Audits
		if a.Stale == 0 {
			continue
		}
		last := ""
		if i := slices.IndexFunc(hits, func(hit cache.StaleHit) bool { return hit.Namespace == sp.all.Namespace }); i >= 0 {
			last = ", the last one " + short(now.at.Sub(hits[i].NoticedAt)) + " ago"
		}
		all = append(all, problem{Namespace: sp.all.Namespace, Text: fmt.Sprintf(
			"%s among %s audited since the start%s: a write does not invalidate, or a tag is wrong", several(a.Stale, "stale hit"), grouped(a.Same+a.Stale), last)})
	}
	return all
}

// policyProblems returns the caches that are off, and the overrides that do nothing.
func (h *handler) policyProblems() (all []problem) {
	for _, p := range h.tiers.Policies() {
		if !p.Policy.Off {
			continue
		}
		if n := len(all); p.Tenant != "" && n > 0 && all[n-1].Namespace == p.Namespace {
			if all[n-1].Tenants != nil {
				all[n-1].Tenants = append(all[n-1].Tenants, p.Tenant)
			}
			continue // the whole namespace is off
		}
		off := problem{Namespace: p.Namespace, Text: "the policy turns the cache off, so every read loads"}
		if p.Tenant != "" {
			off.Tenants = []string{p.Tenant}
		}
		all = append(all, off)
	}
	if names := h.tiers.UnusedPolicies(); len(names) > 0 {
		all = append(all, problem{Text: "Overrides of the policy do nothing, because no cache has the namespace: " + strings.Join(names, ", ")})
	}
	return all
}

// Where names the namespace and at most three tenants.
func (p problem) Where() string {
	switch n := len(p.Tenants); {
	case n == 0:
		return p.Namespace
	case n == 1:
		return p.Namespace + ", tenant " + p.Tenants[0]
	case n > 4:
		return fmt.Sprintf("%s, tenants %s and %d more", p.Namespace, strings.Join(p.Tenants[:3], ", "), n-3)
	}
	return p.Namespace + ", tenants " + strings.Join(p.Tenants, ", ")
}

// short returns a duration without parts that do not matter.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(d.String(), "0s")
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
