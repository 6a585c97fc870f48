// Package audits limits how many audits of hits begin, and keeps what they found.
//
// The seam: an audit begins if [Auditor].Take allows it, and gives a [StaleHit] to Keep.
package audits

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/entry"
)

// StaleHit describes a hit whose value differed from the source although no invalidation covered it.
// It holds no value.
type StaleHit struct {
	Namespace string       // of the cache
	Tenant    string       // of the key
	Key       string       // the full key, "tenant:namespace:id"
	Tags      []string     // of the cached value, "tenant:tag", or "#" and the hash if the text is not known
	Source    entry.Source // of the hit: Local or Remote
	LoadedAt  time.Time    // when the load of the cached value began
	NoticedAt time.Time    // when the audit ended
	Healed    bool         // Delete of the key returned nil; otherwise it may not have reached other processes
}

// maxStaleHits is how many stale hits are kept.
const maxStaleHits = 20

// Auditor holds what the audits of one Tiers share.
type Auditor struct {
	Most    int64           // MaxAudits
	Closing context.Context // ends when Close begins
	Stop    context.CancelFunc
	Running atomic.Int64 // loads of audits

	mu     sync.Mutex // protects the rest
	tokens float64    // audits that may begin now
	filled int64      // when tokens was computed
	recent []StaleHit // the latest last
}

// Open makes the auditor ready, for so many audits in a second.
func (a *Auditor) Open(most int) {
	a.Most, a.tokens = int64(most), float64(most)
	a.Closing, a.Stop = context.WithCancel(context.Background())
}

// Take takes a token. There are at most MaxAudits, and as many are added in a second.
func (a *Auditor) Take(now int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	passed := time.Duration(max(now-a.filled, 0)).Seconds()
	a.tokens, a.filled = min(a.tokens+passed*float64(a.Most), float64(a.Most)), max(now, a.filled)
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

// Keep keeps a stale hit for hits.
func (a *Auditor) Keep(hit StaleHit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recent = append(a.recent, hit); len(a.recent) > maxStaleHits {
		a.recent = slices.Delete(a.recent, 0, 1)
	}
}
