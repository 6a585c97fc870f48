package audits

import (
	"fmt"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// report deletes the key of a stale hit, and reports the hit.
func (a *audit) report() {
	t, space := a.j.Core, a.j.View.Space
	ctx, cancel := a.context(auditPatience)
	defer cancel()
	tags := a.tags() // before the entry leaves
	err := a.j.Delete(ctx)
	hit := StaleHit{
		Namespace: space.Namespace, Tenant: space.Tenant, Key: a.j.FullKey(), Tags: tags, Source: a.src,
		LoadedAt: t.Base.Add(time.Duration(a.j.Entry.LoadedAt)), NoticedAt: time.Now(), Healed: err == nil,
	}
	t.Seen.AuditAge(ctx, a.j.View.Counts, hit.NoticedAt.Sub(hit.LoadedAt))
	a.j.View.Remarks.Stale.Do(func() {
		t.Log.Warn("cache: an audit found a hit that differs from the source, and no invalidation covered it; the key was deleted; see Tiers.StaleHits",
			"namespace", space.Namespace, "tenant", space.Tenant, "healed", hit.Healed)
	})
	a.of.keep(hit)
	if a.of.onStale != nil {
		defer t.Survive("OnStale")
		a.of.onStale(&hit)
	}
}

// tags returns the texts of the entry's tags. An entry has the texts only for OnStored; those of
// Config.Tags can be spelled again.
func (a *audit) tags() (texts []string) {
	tenant, known := a.j.View.Space.Tenant, map[uint64]string{}
	if a.j.View.Tagged && a.j.Entry.Err == nil {
		for _, name := range a.j.View.Kind.Tags(a.j.Entry) {
			known[invalidate.Tag(tenant, name).Hash()] = tenant + ":" + name
		}
	}
	for hash, text := range a.j.Entry.Tags() {
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
