package cachez

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// overview is the page without a query. Numbers have the names of cache.Stats and
// httpcache.Stats, in snake case. They count since the start, and rates since an earlier view.
type overview struct {
	Problems []problem  `json:"problems"` // what is wrong
	Seconds  float64    `json:"seconds"`  // the span of the rates
	Since    string     `json:"since"`    // "view" or "start": the beginning of that span
	Reads    float64    `json:"reads_per_second"`
	Recent   *float64   `json:"recent_hit_ratio"` // of that span
	HitRatio *float64   `json:"hit_ratio"`        // nil if there were no reads yet
	Total    numbers    `json:"total"`
	Spaces   []row      `json:"namespaces"` // with their tenants, those with the most recent reads first
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

type inForce struct {
	Namespace string        `json:"namespace"`
	Tenant    string        `json:"tenant,omitempty"` // empty means all tenants without their own
	Policy    policy.Policy `json:"policy"`
}

// Changes lists the fields that differ from the default: "ttl 5s, stale 1m". It is empty if none does.
func (p inForce) Changes() (string, error) {
	var patch policy.Patch
	usual := reflect.ValueOf(policy.Default())
	for f, v := range reflect.ValueOf(p.Policy).Fields() {
		if !v.Equal(usual.FieldByIndex(f.Index)) {
			to := reflect.New(f.Type)
			to.Elem().Set(v)
			reflect.ValueOf(&patch).Elem().FieldByName(f.Name).Set(to)
		}
	}
	b, err := patch.MarshalJSON()
	return strings.NewReplacer("{", "", "}", "", `"`, "", ":", " ", ",", ", ").Replace(string(b)), err
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
	now, before := h.view()
	s, span := &now.stats, now.at.Sub(before.at)
	spaces := spacesOf(s, &before.stats)
	recent := s.Total
	add(&recent, &before.stats.Total, -1)
	o := &overview{
		Problems: h.problems(now, before, spaces), Seconds: secondsOf(span), Since: "view",
		Reads: rate(readsOf(recent), span), Recent: hitsOf(recent),
		HitRatio: hitsOf(s.Total), Total: numbersOf(s.Total), Spaces: h.rowsOf(spaces, span), Policies: []inForce{},
		Local: numbersOf(s.Local), Invalidations: numbersOf(s.Kinds), Fences: numbersOf(s.Fences),
	}
	if before.made {
		o.Since = "start"
	}
	for _, p := range h.tiers.Policies() {
		o.Policies = append(o.Policies, inForce(p))
	}
	o.Full = ratio(s.Local.Used, s.Local.MaxBytes)
	o.Audits = h.auditsOf(r, s, spaces)
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
		o.Pages = responsesOf(&now.pages, &before.pages, span)
	}
	return o
}

// Span says what the rates are about.
func (o *overview) Span() string {
	span := short(time.Duration(o.Seconds * float64(time.Second)))
	if o.Since == "start" {
		return "the " + span + " since this page was made"
	}
	return "the " + span + " since a view of this page"
}

func responsesOf(now, before *httpcache.Stats, span time.Duration) *responses {
	p := &responses{HitRatio: servedOf(now.Counts), Total: numbersOf(now.Counts), Formats: []row{}, Bypass: now.Bypass, Refused: now.Refused}
	for _, name := range slices.Sorted(maps.Keys(now.Formats)) {
		all, recent, old := now.Formats[name], now.Formats[name], before.Formats[name]
		add(&recent, &old, -1)
		p.Formats = append(p.Formats, row{
			Name: name, Reads: rate(requestsOf(recent), span), Recent: servedOf(recent), HitRatio: servedOf(all), Counts: numbersOf(all),
			Bar: barOf(part{"hits", recent.Hits}, part{"stale", recent.Stale}, part{"shared loads", recent.Coalesced}, part{"misses", recent.Misses}),
		})
	}
	slices.SortStableFunc(p.Formats, func(a, b row) int { return cmp.Compare(b.Reads, a.Reads) })
	return p
}
