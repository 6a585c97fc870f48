package cachez

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// audits shows how fresh the hits are, if the policy's Audit asks for comparisons.
type audits struct {
	Spaces []freshness `json:"spaces"`
	Stale  []staleHit  `json:"stale"` // the last 20, the latest first
}

// freshness is the share of fresh hits of one namespace, for all tenants.
type freshness struct {
	Name   string  `json:"name"`
	Sample int64   `json:"sample"` // audits with a verdict
	Low    float64 `json:"low"`    // the share is above it with a confidence of 95 %
	High   float64 `json:"high"`   // and below it
	Counts numbers `json:"counts"`
}

// staleHit describes a stale hit. It has a key only for those who may see keys.
type staleHit struct {
	Namespace string    `json:"namespace"`
	Tenant    string    `json:"tenant"`
	Key       string    `json:"key,omitempty"`
	Tags      []string  `json:"tags,omitempty"`
	Source    string    `json:"source"`
	Loaded    time.Time `json:"loaded"`
	Noticed   time.Time `json:"noticed"`
	Healed    bool      `json:"healed"`
}

// auditsOf returns nil if no hit was a candidate yet.
func (h *handler) auditsOf(r *http.Request, s *cache.Stats, spaces []space) *audits {
	if s.Audits == (cache.Audits{}) {
		return nil
	}
	all := &audits{Stale: []staleHit{}}
	for _, sp := range spaces {
		if sum := sp.all.Audits; sum != (cache.Audits{}) {
			low, high := sum.Fresh()
			all.Spaces = append(all.Spaces, freshness{sp.all.Namespace, sum.Same + sum.Stale, low, high, numbersOf(sum)})
		}
	}
	keys := h.showsKeys(r)
	for _, hit := range h.tiers.StaleHits() {
		one := staleHit{
			Namespace: hit.Namespace, Tenant: hit.Tenant, Source: hit.Source.String(),
			Loaded: hit.LoadedAt.UTC().Round(time.Millisecond), Noticed: hit.NoticedAt.UTC().Round(time.Millisecond), Healed: hit.Healed,
		}
		if keys {
			one.Key, one.Tags = hit.Key, hit.Tags
		}
		all.Stale = append(all.Stale, one)
	}
	return all
}

func (h *handler) showsKeys(r *http.Request) bool {
	if h.AuthorizeKeys == nil {
		return h.Index != nil
	}
	return h.AuthorizeKeys(r)
}

// Nines is the share in nines: 0.999 has three. Without a stale hit there is no upper limit.
func (f freshness) Nines() string {
	switch {
	case f.Sample == 0:
		return "no verdict yet"
	case f.High == 1:
		return fmt.Sprintf("more than %.1f nines", nines(f.Low))
	}
	return fmt.Sprintf("between %.1f and %.1f nines", nines(f.Low), nines(f.High))
}

func nines(share float64) float64 { return max(-math.Log10(1-share), 0) }
