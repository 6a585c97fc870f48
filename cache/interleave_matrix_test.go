package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// logFault is a fault of the log while process 0 invalidates.
type logFault struct {
	name   string
	before func(w *duo) // runs before the invalidation
	after  func(w *duo) // runs after it; nil means none
}

var errWire = errors.New("unplugged")

// onLink is a fault of one process's link to the log.
func onLink(i int, name string, set func(f *logtest.Faulty)) logFault {
	return logFault{name: fmt.Sprintf("%s %d", name, i), before: func(w *duo) { set(w.link[i]) }}
}

func logFaults(t *testing.T) []logFault {
	var all []logFault
	for i := range 2 {
		all = append(all,
			onLink(i, "fail", func(f *logtest.Faulty) { f.Fail(errWire) }),
			onLink(i, "fail sync", func(f *logtest.Faulty) { f.Fail(errWire, logtest.Sync) }),
			onLink(i, "hang", func(f *logtest.Faulty) { f.Hang(true) }),
			onLink(i, "hang sync", func(f *logtest.Faulty) { f.Hang(true, logtest.Sync) }),
			onLink(i, "hang tail", func(f *logtest.Faulty) { f.Hang(true, logtest.Tail) }),
			onLink(i, "lose replies", func(f *logtest.Faulty) { f.LoseReplies(errWire) }),
			onLink(i, "deaf", func(f *logtest.Faulty) { f.DropTail(true) }),
			onLink(i, "delay", func(f *logtest.Faulty) { f.Delay(bound / 5) }),
			onLink(i, "delay beyond patience", func(f *logtest.Faulty) { f.Delay(bound) }),
			onLink(i, "garble", func(f *logtest.Faulty) { f.Corrupt(garble) }),
		)
	}
	var dump logtest.Snapshot
	cutOff := func(w *duo) { w.link[1].Fail(errWire) }
	server := func(name string, then func(m *logtest.Memory)) []logFault {
		after := func(w *duo) { then(w.log); w.link[1].Heal() }
		keep := func(w *duo) { dump = w.log.Snapshot() }
		return []logFault{
			{name, keep, after},
			{name + ", unheard", func(w *duo) { keep(w); cutOff(w) }, after},
		}
	}
	all = append(all, server("restore", func(m *logtest.Memory) { m.Restore(dump) })...)
	all = append(all, server("lose", func(m *logtest.Memory) { m.Lose(1) })...)
	all = append(all, server("rewind", func(m *logtest.Memory) { m.Rewind(1) })...)
	all = append(all, server("restart", (*logtest.Memory).Restart)...)
	all = append(all, server("trim all", func(m *logtest.Memory) { m.Trim(0) })...)
	for name, parts := range map[string][]logtest.Part{"everything": nil, "meta": {logtest.Meta}, "keys": {logtest.Keys}, "scopes": {logtest.Scopes}} {
		all = append(all, server("delete "+name, func(m *logtest.Memory) { m.Delete(parts...) })...)
	}
	return append(all, logFault{"trim behind", cutOff, func(w *duo) { push(t, w); w.log.Trim(1); w.link[1].Heal() }})
}

// garble damages every record.
func garble(p invalidate.Page) invalidate.Page {
	for _, rs := range [][]invalidate.Record{p.Keys, p.Scopes} {
		for i := range rs {
			rs[i].Damaged, rs[i].Fences = true, nil
		}
	}
	return p
}

// push appends records to both sequences that cover no entry.
func push(t *testing.T, w *duo) {
	other := invalidate.Tag("default", "nobody").Fence()
	k := invalidate.Fence{Kind: invalidate.KindKey, Hash: 1}
	end := invalidate.Cursor{}
	keys, scopes := w.log.Records()
	end.Key, end.Scope = keys[len(keys)-1].At, scopes[len(scopes)-1].At
	succeeds(t, errOf(w.log.Sync(t.Context(), end, invalidate.Append{Keys: []invalidate.Fence{k}, Scopes: []invalidate.Fence{other}})))
}

// The test combines each fault of the log with each kind of scope. After one bound, both
// processes see an acknowledged invalidation. The process that called it sees it in any case.
// When the log has recovered, both agree, and both cache again.
func TestLogFaultMatrix(t *testing.T) {
	for _, f := range logFaults(t) {
		for name, scope := range scopes(t) {
			t.Run(f.name+"/"+name, func(t *testing.T) {
				for _, as := range []func(*tiertest.Faulty) tier.Remote{asIs, asLooker} {
					synctest.Test(t, func(t *testing.T) { tryFault(t, f, scope, as) })
				}
			})
		}
	}
}

func tryFault(t *testing.T, f logFault, s invalidate.Scope, as func(*tiertest.Faulty) tier.Remote) {
	w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{Tags: tagT}, as)
	w.want(t, 0, 1, "1.1")
	w.want(t, 1, 1, "1.1")
	f.before(w)
	acked := w.tiers[0].Invalidate(t.Context(), s) == nil
	at := time.Now()
	w.wantSince(t, 0, 1) // process 0 sees it at once
	if f.after != nil {
		f.after(w)
	}
	advance(time.Until(at.Add(bound + time.Millisecond)))
	w.wantSince(t, 0, 1)
	if acked {
		w.wantSince(t, 1, 1)
	}
	w.link[0].Heal()
	w.link[1].Heal()
	advance(2 * bound) // both hold leases, and pending invalidations are sent
	w.wantSince(t, 1, 1)
	w.wantAgreement(t, 1)
	w.invalidate(t, 1, s) // an invalidation by the other process works, too
	loads := w.src.total()
	advance(bound + time.Millisecond)
	w.wantSince(t, 0, loads)
	w.wantAgreement(t, loads)
}

// wantAgreement expects that both processes read a value loaded since, then read it again
// without a load.
func (w *duo) wantAgreement(t *testing.T, since int) {
	t.Helper()
	w.wantSince(t, 1, since)
	w.wantSince(t, 0, since)
	loads := w.src.total()
	w.wantSince(t, 1, since)
	w.wantSince(t, 0, since)
	if n := w.src.total() - loads; n > 0 {
		t.Errorf("%d loads of a value that was just read, want none", n)
	}
}
