package cache

import (
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/audits"
	"github.com/twofold-go/twofold/internal/resident"
)

// StaleHit describes a hit whose value differed from the source although no invalidation covered it.
// It holds no value.
type StaleHit struct {
	Namespace string    // of the cache
	Tenant    string    // of the key
	Key       string    // the full key, "tenant:namespace:id"
	Tags      []string  // of the cached value, "tenant:tag", or "#" and the hash if the text is not known
	Source    Source    // of the hit: Local or Remote
	LoadedAt  time.Time // when the load of the cached value began
	NoticedAt time.Time // when the audit ended
	Healed    bool      // Delete of the key returned nil; otherwise it may not have reached other processes
}

// Audits counts audits by outcome: the comparisons of hits with the source that the policy's Audit
// asks for.
type Audits struct {
	Same    int64 // the source had the same value
	Ended   int64 // the entry was invalidated, expired, replaced or evicted before there was a verdict
	Stale   int64 // the source had another value, and no invalidation covered the hit
	Failed  int64 // the source or the log could not be asked, or the source contradicted itself
	Skipped int64 // no audit: MaxAudits or MaxLoads was reached
}

// Fresh returns the limits between which the share of fresh hits lies with a confidence of 95 %. It
// is the score interval of Wilson ("Probable Inference", JASA 22, 1927), which also holds when no
// audit, or every audit, was stale. Only Same and Stale count. Without any of them, it returns 0
// and 1.
func (a Audits) Fresh() (low, high float64) {
	const z = 1.959964 // 97.5 % of the normal distribution
	n, k := float64(a.Same+a.Stale), float64(a.Same)
	if n == 0 {
		return 0, 1
	}
	centre := (k + z*z/2) / (n + z*z)
	half := z / (n + z*z) * math.Sqrt(k*(n-k)/n+z*z/4)
	low, high = max(centre-half, 0), min(centre+half, 1)
	if a.Stale == 0 {
		high = 1 // exactly, without a rounding error
	}
	return low, high
}

// StaleHits returns the last 20 hits that audits found stale, the latest first. The slice belongs to
// the caller.
func (t *Tiers) StaleHits() []StaleHit {
	hits := t.audits.Hits()
	all := make([]StaleHit, len(hits))
	for i := range hits {
		all[i] = staleHit(&hits[i])
	}
	return all
}

// auditor opens the auditor of a core.
func (cfg *TiersConfig) auditor(core *resident.Core) *audits.Auditor {
	if cfg.OnStale == nil {
		return audits.Open(core, nil)
	}
	return audits.Open(core, func(h *audits.StaleHit) { cfg.OnStale(staleHit(h)) })
}

func staleHit(h *audits.StaleHit) StaleHit {
	return StaleHit{h.Namespace, h.Tenant, h.Key, h.Tags, Source(h.Source), h.LoadedAt, h.NoticedAt, h.Healed}
}
