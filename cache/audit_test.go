package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
)

// auditAll is a policy under which every hit is a candidate.
var auditAll = patch{Audit: new(1.0), TTL: new(time.Hour)}

// newAudited returns two processes on a log whose hits are audited. Their source has the value "old".
func newAudited(t *testing.T, tc cache.TiersConfig, cfg thingConfig) *duo {
	t.Helper()
	if cfg.Policy.Audit == nil {
		cfg.Policy = auditAll
	}
	w := newDuo(t, logged, tc, cfg, asIs)
	w.src.fixed = "old"
	return w
}

func (w *duo) wantAudits(t *testing.T, want cache.Audits) {
	t.Helper()
	same(t, want, w.tiers[0].Stats().Audits, "audits")
}

const auditTakes = 2*bound + 200*time.Millisecond

// Each outcome of an audit, on one hit. Each mistake of the program is found.
func TestAuditOutcomes(t *testing.T) {
	short, slow := auditAll, auditAll
	short.TTL, short.Stale, slow.LoadTimeout = new(time.Second), new(time.Hour), new(time.Second)
	volatile := func(context.Context, int) (string, error) { return time.Now().Format(time.StampNano), nil }
	for name, tt := range map[string]struct {
		cfg  thingConfig
		then string // after the hit
		want string
	}{
		"unchanged":                 {want: "Same=1"},
		"changed":                   {then: "source is=new", want: "Stale=1"},
		"vanished":                  {then: "source absent", want: "Stale=1"},
		"invalidated":               {then: "source is=new; a deletes", want: "Ended=1"},
		"a wrong tag":               {then: "source is=new; a invalidates another-tag", want: "Stale=1"},
		"the right tag":             {then: "source is=new; a invalidates tag", want: "Ended=1"},
		"a wrong key":               {then: "source is=new; a deletes key=11", want: "Stale=1"},
		"a lagging replica":         {then: "a invalidates tag; a gets old; wait 1s; source is=new; a gets old", want: "Ended=1 Stale=1"},
		"expired":                   {then: "source is=new; a expires", want: "Ended=1"},
		"replaced":                  {then: "source is=new; a refreshes", want: "Ended=1"},
		"too old by then":           {cfg: thingConfig{Policy: short}, then: "source is=new", want: "Ended=1"},
		"switched off":              {then: "source is=new; policy off", want: "Ended=1"},
		"the log cannot be asked":   {then: "source is=new; wait 2150ms; log fails", want: "Failed=1"}, // the first load was made
		"written during the audit":  {then: "wait 2s; source is=new; wait 2s; a deletes", want: "Ended=1"},
		"source down":               {then: "source fails", want: "Failed=1"},
		"a panic":                   {cfg: thingConfig{Load: inAudit(func(context.Context) (string, error) { panic("no") })}, want: "Failed=1"},
		"a Goexit":                  {cfg: thingConfig{Load: inAudit(func(context.Context) (string, error) { runtime.Goexit(); return "", nil })}, want: "Failed=1"},
		"not modified":              {cfg: thingConfig{Load: inAudit(func(context.Context) (string, error) { return "", cache.ErrNotModified })}, want: "Failed=1"},
		"not to be stored":          {cfg: thingConfig{Load: inAudit(func(ctx context.Context) (string, error) { cache.Filling(ctx).NoStore(); return "poor", nil })}, want: "Failed=1"},
		"too slow":                  {cfg: thingConfig{Policy: slow, Load: inAudit(func(ctx context.Context) (string, error) { <-ctx.Done(); return "right", nil })}, want: "Failed=1"},
		"volatile":                  {cfg: thingConfig{Load: volatile}, want: "Failed=1"},
		"volatile, and Equal knows": {cfg: thingConfig{Load: volatile, Equal: func(a, b string) bool { return len(a) == len(b) }}, want: "Same=1"},
		"Equal panics":              {cfg: thingConfig{Equal: func(_, _ string) bool { panic("no") }}, want: "Failed=1"},
		"LoadMany":                  {cfg: loading(inAudit(func(context.Context) (string, error) { return "right", nil }), true), want: "Same=1"},
		"LoadMany finds it gone":    {cfg: loading(inAudit(func(context.Context) (string, error) { return "", cache.ErrNotFound }), true), want: "Stale=1"},
	} {
		if tt.cfg.Policy.Audit == nil {
			tt.cfg.Policy = auditAll
		}
		calls := 0
		play(t, scene{name: name, on: logged, cfg: tt.cfg, tc: cache.TiersConfig{OnStale: func(cache.StaleHit) { calls++ }}, steps: `
			source is=old; a gets any; a gets any; ` + tt.then + `; wait 5200ms; a audits ` + tt.want})
		if (calls == 1) != strings.Contains(tt.want, "Stale=1") {
			t.Errorf("%s: OnStale was called %d times", name, calls)
		}
	}
	// Without a log, the removal of the cell tells of an invalidation in another process.
	for name, steps := range map[string]string{"invalidated elsewhere": "b deletes; wait 5s; a audits Ended=1", "forgotten": "wait 5s; a audits Stale=1"} {
		play(t, scene{name: name, on: paired, cfg: thingConfig{Policy: auditAll}, steps: "source is=old; a gets old; a gets old; source is=new; " + steps})
	}
}

// inAudit returns a loader that does something else in an audit.
func inAudit(do func(ctx context.Context) (string, error)) cache.Loader[int, string] {
	return func(ctx context.Context, _ int) (string, error) {
		if cache.Filling(ctx).Auditing() {
			return do(ctx)
		}
		return "right", nil
	}
}

// A stale hit is reported with everything but the value, and is gone in every process.
func TestStaleHit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stale []cache.StaleHit
		w := newAudited(t, cache.TiersConfig{OnStale: func(s cache.StaleHit) { stale = append(stale, s) }}, thingConfig{
			Tags: func(int, string) []string { return []string{"wrong"} },
		})
		w.want(t, 0, 1, "old")
		loaded := time.Now()
		w.want(t, 1, 1, "old")
		advance(time.Minute)
		w.want(t, 0, 1, "old")
		w.src.write(1, "new")
		advance(auditTakes)
		want := []cache.StaleHit{{
			Namespace: "things", Tenant: "default", Key: cell1, Tags: []string{"default:wrong"},
			Source: cache.Local, LoadedAt: loaded, NoticedAt: loaded.Add(time.Minute + auditTakes - 100*time.Millisecond), Healed: true,
		}}
		same(t, want, stale, "OnStale")
		advance(2 * time.Second)
		w.want(t, 0, 1, "new")
		w.want(t, 1, 1, "new")
	})
}

// Which hits are candidates.
func TestAuditedHits(t *testing.T) {
	never := auditAll
	never.Audit = new(0.0)
	remembering := auditAll
	remembering.NegativeTTL, remembering.ErrorTTL = new(time.Hour), new(time.Hour)
	stale := patch{Audit: new(1.0), TTL: new(time.Second), Stale: new(time.Hour)}
	for name, tt := range map[string]struct {
		policy patch
		steps  string
	}{
		"Fetch":                  {auditAll, "a gets any; a gets old local; wait 5200ms; a audits Same=1"},
		"GetMany":                {auditAll, "a batches 1-3; a batches 1-3; wait 5200ms; a audits Same=3"},
		"GetMany with an option": {auditAll, "a batches 1-2; a batches 1-2 Fresh; wait 5200ms; a audits Same=2"},
		"remote Fetch":           {auditAll, "a gets any; b gets old remote; wait 5200ms; b audits Same=1; a audits"},
		"remote GetMany":         {auditAll, "a batches 1-3; b batches 1-3; wait 5200ms; b audits Same=3; a audits"},
		"SkipLocal":              {auditAll, "a gets any; a gets old remote SkipLocal; wait 5200ms; a audits Same=1"},
		"an absence":             {remembering, "source absent; a gets absent; a gets absent local; wait 5200ms; a audits Same=1"},
		"a remembered error":     {remembering, "source fails; a gets failed; a gets remembered; wait 5200ms; a audits"},
		"Peek":                   {auditAll, "a gets any; a peeks old; wait 5200ms; a audits"},
		"loads":                  {auditAll, "a gets any; a gets any key=2; wait 5200ms; a audits"},
		"stale by its policy":    {stale, "a gets any; wait 2s; a gets old stale; wait 5200ms; a audits"},
		"With":                   {never, "a gets any; a gets old local own; wait 5200ms; a audits Same=1"},
		"not With":               {never, "a gets any; a gets old local; wait 5200ms; a audits"},
	} {
		play(t, scene{name: name, on: logged, cfg: thingConfig{Policy: tt.policy}, own: auditAll, steps: "source is=old; " + tt.steps})
	}
	for name, tt := range map[string]struct {
		read func(ctx context.Context, c things) error
		want int64
	}{
		"Get": {func(ctx context.Context, c things) error { return errOf(c.Get(ctx, 1)) }, 1},
		"a loader of a call": {func(ctx context.Context, c things) error {
			return errOf(c.GetOrLoad(ctx, 1, func(context.Context, int) (string, error) { return "old", nil }))
		}, 1},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newAudited(t, cache.TiersConfig{}, thingConfig{})
			get(t, w.c[0], 1)
			get(t, w.c[1], 2)
			must(t, tt.read(t.Context(), w.c[0]))
			advance(auditTakes)
			w.wantAudits(t, cache.Audits{Same: tt.want})
		})
	}
}

// A loader of an audit has its tenant. The hits in it are not audited again, and the loads that it causes
// are no audits: they store their values.
func TestAuditingLoader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outer, inner []string
		note := func(ctx context.Context, calls *[]string) {
			*calls = append(*calls, fmt.Sprint(cache.Filling(ctx).Tenant(), " ", cache.Filling(ctx).Auditing()))
		}
		w := newAudited(t, cache.TiersConfig{}, thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
			note(ctx, &inner)
			return "v", nil
		}})
		c := with(t, w.tiers[0], thingConfig{Namespace: "outer", Policy: auditAll, Load: func(ctx context.Context, k int) (string, error) {
			note(ctx, &outer)
			_, err := w.c[0].Get(ctx, k+len(outer)) // another key each time
			return "v", errors.Join(err, errOf(w.c[0].Get(ctx, k)))
		}}).Tenant("acme")
		get(t, c, 1)
		get(t, c, 1)
		advance(auditTakes)
		w.wantAudits(t, cache.Audits{Same: 1})
		same(t, []string{"acme false", "acme true"}, outer, "the loads of the audited value")
		same(t, []string{"default false", "default false", "default false"}, inner, "the loads that it caused")
		equal(t, cache.Filling(t.Context()).Auditing(), false, "Auditing outside a loader")
	})
}

// A value that was built from cached values ends by their invalidation, also for an audit.
func TestAuditOfBuiltValues(t *testing.T) {
	play(t, scene{on: logged, cfg: thingConfig{Policy: auditAll}, pages: &auditAll, steps: `
		a page any; a page any; source is=new; a deletes; wait 5200ms; a audits Ended=1`})
}

// Values that a codec writes in different orders, or that have lost something on the way, are equal.
func TestAuditEquality(t *testing.T) {
	type value struct {
		Names map[string]int
		At    time.Time
		Note  string `json:"-"`
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("here", 3600))
	load := func(ctx context.Context, _ int) (value, error) {
		return value{map[string]int{"a": 1, "b": 2}, at, fmt.Sprint(cache.Filling(ctx).Auditing())}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			remote bool
			want   cache.Audits
		}{
			"encoded":     {true, cache.Audits{Same: 1}},
			"not encoded": {false, cache.Audits{Stale: 1}}, // Note differs
		} {
			tiers := open(t, tiersOf(tt.remote))
			c := with(t, tiers, cache.Config[int, value]{Load: load, Policy: auditAll, Codec: codec.Lossy(codec.JSON)})
			get(t, c, 1)
			get(t, c, 1)
			advance(auditTakes)
			equal(t, tiers.Stats().Audits, tt.want, "%s", name)
		}
	})
}

// The last 20 stale hits are kept, the latest first.
func TestStaleHitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAudited(t, cache.TiersConfig{MaxAudits: 100}, thingConfig{})
		for k := range 30 {
			w.want(t, 0, k, "old")
			w.want(t, 0, k, "old")
			w.src.write(k, "new")
			advance(auditTakes)
		}
		hits := w.tiers[0].StaleHits()
		if len(hits) != 20 || hits[0].Key != "default:things:29" || hits[19].Key != "default:things:10" {
			t.Errorf("%d stale hits are kept: %v", len(hits), hits)
		}
	})
}
