// Package audits compares sampled hits with the source. Guarantee 10 is about invalidations that were
// made. An audit finds a missing invalidation: a forgotten call, a wrong tag, a replica that lagged.
//
//  1. The sampling of hits offers candidates. The policy's Audit draws from them. MaxAudits of the
//     Tiers bounds how many begin in a second; the rest is skipped.
//  2. The audit waits for the log's bound and auditGrace. A write may have been committed while its
//     invalidation is on its way. That is within the promise.
//  3. If the entry was invalidated, expired, replaced or evicted meanwhile, the audit ends without
//     a load.
//  4. It calls the loader. The load stores nothing, joins no flight and takes no claim. It needs a
//     turn among MaxLoads, and does not wait for one.
//  5. If the values differ, it waits for the bound again. Then it makes sure that this process
//     knows every invalidation up to now. A write during the audit has invalidated the entry by
//     then. A second load must agree with the first one, or the source cannot be compared.
//  6. A hit that is stale is deleted for all processes, and reported.
//
// The caller of the hit waits for none of this. The goroutine of an audit ends when the Tiers close.
//
// The seam: [Open] puts a hook into the core, which the engine calls with hits. An audit loads by
// [engine.Probe].
package audits

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/resident"
)

// StaleHit describes a hit whose value differed from the source although no invalidation covered it.
// It holds no value.
type StaleHit struct {
	Namespace string          // of the cache
	Tenant    string          // of the key
	Key       string          // the full key, "tenant:namespace:id"
	Tags      []string        // of the cached value, "tenant:tag", or "#" and the hash if the text is not known
	Source    resident.Source // of the hit: Local or Remote
	LoadedAt  time.Time       // when the load of the cached value began
	NoticedAt time.Time       // when the audit ended
	Healed    bool            // Delete of the key returned nil; otherwise it may not have reached other processes
}

// maxStaleHits is how many stale hits are kept.
const maxStaleHits = 20

// Auditor makes the audits of one Tiers, and keeps what they found.
type Auditor struct {
	most    int64           // MaxAudits
	onStale func(*StaleHit) // nil: nothing is called
	running atomic.Int64    // loads of audits

	mu     sync.Mutex // protects the rest
	tokens float64    // audits that may begin now
	filled int64      // when tokens was computed
	recent []StaleHit // the latest last
}

// Open makes the auditor of t. MaxAudits of the core's Config bounds how many audits begin in a second.
func Open(t *resident.Core, onStale func(*StaleHit)) *Auditor {
	most := t.Config.MaxAudits
	a := &Auditor{most: int64(most), tokens: float64(most), onStale: onStale}
	t.Sampled = a.hit
	return a
}

// take takes a token. There are at most MaxAudits, and as many are added in a second.
func (a *Auditor) take(now int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	passed := time.Duration(max(now-a.filled, 0)).Seconds()
	a.tokens, a.filled = min(a.tokens+passed*float64(a.most), float64(a.most)), max(now, a.filled)
	if a.tokens < 1 {
		return false
	}
	a.tokens--
	return true
}

// Hits returns the last 20 hits that audits found stale, the latest first. The slice belongs to the
// caller.
func (a *Auditor) Hits() []StaleHit {
	a.mu.Lock()
	defer a.mu.Unlock()
	hits := slices.Clone(a.recent)
	slices.Reverse(hits)
	return hits
}

// keep keeps a stale hit for Hits.
func (a *Auditor) keep(hit StaleHit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recent = append(a.recent, hit); len(a.recent) > maxStaleHits {
		a.recent = slices.Delete(a.recent, 0, 1)
	}
}
