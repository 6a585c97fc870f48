package cachez

import (
	"maps"
	"net/http"
	"slices"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// overview is the page without a query. Numbers have the names of cache.Stats and
// httpcache.Stats, in snake case.
type overview struct {
	HitRatio *float64   `json:"hit_ratio"` // nil if there were no reads yet
	Total    numbers    `json:"total"`
	Spaces   []row      `json:"spaces"`
	Policies []inForce  `json:"policies"`
	Unused   []string   `json:"unused_policies,omitempty"` // namespaces of the table that no cache has
	Audits   *audits    `json:"audits,omitempty"`
	Pages    *responses `json:"pages,omitempty"`
	Full     *float64   `json:"full,omitempty"` // share of the local tier's budget in use; nil if not known

	Local         numbers `json:"local"`
	Remote        numbers `json:"remote,omitempty"` // with its breaker
	Log           numbers `json:"log,omitempty"`    // with the age of its lease
	Invalidations numbers `json:"invalidations"`
	Fences        numbers `json:"fences"`
	Index         numbers `json:"index,omitempty"`
}

// row is the numbers of a namespace and tenant, or of a format of responses.
type row struct {
	Name     string   `json:"name"`
	Tenant   string   `json:"tenant,omitempty"`
	HitRatio *float64 `json:"hit_ratio"`
	Counts   numbers  `json:"counts"`
	Bar      bar      `json:"-"` // how the reads or requests were answered
	Keys     string   `json:"-"` // the prefix of its keys, if the page can list them
}

type inForce struct {
	Namespace string        `json:"namespace"`
	Tenant    string        `json:"tenant,omitempty"` // empty means all tenants without their own
	Policy    policy.Policy `json:"policy"`
}

// responses are the numbers of Config.Pages.
type responses struct {
	HitRatio *float64         `json:"hit_ratio"`
	Total    numbers          `json:"total"`
	Formats  []row            `json:"formats"`
	Bypass   map[string]int64 `json:"bypass"`  // requests that bypassed the cache, by reason
	Refused  map[string]int64 `json:"refused"` // responses that were not stored, by reason
}

func (h *handler) overview(r *http.Request) *overview {
	s := h.tiers.Stats()
	o := &overview{
		HitRatio: hitsOf(s.Total), Total: numbersOf(s.Total), Spaces: []row{}, Policies: []inForce{},
		Local: numbersOf(s.Local), Invalidations: numbersOf(s.Kinds), Fences: numbersOf(s.Fences),
	}
	for _, sp := range s.Spaces {
		keys := ""
		if h.Index != nil {
			keys = sp.Tenant + ":" + sp.Namespace + ":"
		}
		o.Spaces = append(o.Spaces, row{sp.Namespace, sp.Tenant, hitsOf(sp.Counts), numbersOf(sp.Counts), barOf(
			part{"local hits", sp.Reads.LocalHits}, part{"remote hits", sp.Reads.RemoteHits}, part{"shared loads", sp.Reads.Merged}, part{"misses", sp.Reads.Misses}), keys})
	}
	for _, p := range h.tiers.Policies() {
		o.Policies = append(o.Policies, inForce(p))
	}
	o.Full = ratio(s.Local.Used, s.Local.MaxBytes)
	o.Audits = h.auditsOf(r, &s)
	o.Unused = h.tiers.UnusedPolicies()
	if s.Remote.Breaker != "" {
		o.Remote = numbersOf(s.Remote)
	}
	if s.Log != (invalidate.LogStats{}) {
		o.Log = numbersOf(s.Log)
	}
	if h.Index != nil {
		o.Index = numbersOf(h.Index.Stats())
	}
	if h.Pages != nil {
		o.Pages = responsesOf(h.Pages.Stats())
	}
	return o
}

func responsesOf(s httpcache.Stats) *responses {
	p := &responses{HitRatio: servedOf(s.Counts), Total: numbersOf(s.Counts), Formats: []row{}, Bypass: s.Bypass, Refused: s.Refused}
	for _, name := range slices.Sorted(maps.Keys(s.Formats)) {
		n := s.Formats[name]
		p.Formats = append(p.Formats, row{name, "", servedOf(n), numbersOf(n), barOf(
			part{"hits", n.Hits}, part{"stale", n.Stale}, part{"shared loads", n.Coalesced}, part{"misses", n.Misses}), ""})
	}
	return p
}

// hitsOf returns the share of reads that a tier answered.
func hitsOf(n cache.Counts) *float64 {
	hits := n.Reads.LocalHits + n.Reads.RemoteHits
	return ratio(hits, hits+n.Reads.Misses+n.Reads.Merged)
}

// servedOf returns the share of requests that a stored page answered.
func servedOf(n httpcache.Counts) *float64 {
	return ratio(n.Hits+n.Stale, n.Hits+n.Stale+n.Misses+n.Coalesced)
}

func ratio(hits, all int64) *float64 {
	if all == 0 {
		return nil
	}
	return new(float64(hits) / float64(all))
}
