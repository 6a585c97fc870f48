package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/invalidate"
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

// StaleHits returns the last 20 hits that audits found stale, the latest first. The slice belongs to
// the caller.
func (t *Core) StaleHits() []StaleHit {
	t.audits.mu.Lock()
	defer t.audits.mu.Unlock()
	hits := slices.Clone(t.audits.recent)
	slices.Reverse(hits)
	return hits
}

// maxStaleHits is how many stale hits are kept.
const maxStaleHits = 20

// auditor holds what the audits of one Tiers share.
type auditor struct {
	most    int64           // MaxAudits
	closing context.Context // ends when Close begins
	stop    context.CancelFunc
	running atomic.Int64 // loads of audits

	mu     sync.Mutex // protects the rest
	tokens float64    // audits that may begin now
	filled int64      // when tokens was computed
	recent []StaleHit // the latest last
}

func (a *auditor) open(most int) {
	a.most, a.tokens = int64(most), float64(most)
	a.closing, a.stop = context.WithCancel(context.Background())
}

// take takes a token. There are at most MaxAudits, and as many are added in a second.
func (a *auditor) take(now int64) bool {
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

// auditRemarks are the log lines about audits of one cache. Each is written once.
type auditRemarks struct{ volatile, stale sync.Once }

// report heals a stale hit and tells of it.
func (a *audit) report() {
	t, space := a.j.t, a.j.v.Space
	ctx, cancel := a.context(auditPatience)
	defer cancel()
	tags := a.tags() // before the entry leaves
	err := a.j.Delete(ctx)
	hit := StaleHit{
		Namespace: space.Namespace, Tenant: space.Tenant, Key: a.j.FullKey(), Tags: tags, Source: a.src,
		LoadedAt: t.base.Add(time.Duration(a.j.e.LoadedAt)), NoticedAt: time.Now(), Healed: err == nil,
	}
	t.seen.AuditAge(ctx, a.j.v.counts, hit.NoticedAt.Sub(hit.LoadedAt))
	a.j.v.remarks.stale.Do(func() {
		t.log.Warn("cache: an audit found a hit that differs from the source, and no invalidation covered it; the key was deleted; see Tiers.StaleHits",
			"namespace", space.Namespace, "tenant", space.Tenant, "healed", hit.Healed)
	})
	t.audits.keep(hit)
	if t.cfg.OnStale != nil {
		defer t.survive("OnStale")
		t.cfg.OnStale(&hit)
	}
}

func (a *auditor) keep(hit StaleHit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recent = append(a.recent, hit); len(a.recent) > maxStaleHits {
		a.recent = slices.Delete(a.recent, 0, 1)
	}
}

// tags returns the texts of the entry's tags. An entry has the texts only for OnStored; those of
// Config.Tags can be spelled again.
func (a *audit) tags() (texts []string) {
	tenant, known := a.j.v.Space.Tenant, map[uint64]string{}
	if a.j.v.tagged && a.j.e.Err == nil {
		for _, name := range a.j.v.kind.Tags(a.j.e) {
			known[invalidate.Tag(tenant, name).Hash()] = tenant + ":" + name
		}
	}
	for hash, text := range a.j.e.Tags() {
		if text == "" {
			text = known[hash]
		}
		if text == "" {
			text = fmt.Sprintf("#%016x", hash)
		}
		texts = append(texts, text)
	}
	return texts
}
