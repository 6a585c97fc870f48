package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var errWire = errors.New("unplugged")

// linkFaults are faults of one process's link to the log.
var linkFaults = map[string]func(f *logtest.Faulty){
	"fail":                  func(f *logtest.Faulty) { f.Fail(errWire) },
	"fail sync":             func(f *logtest.Faulty) { f.Fail(errWire, logtest.Sync) },
	"hang":                  func(f *logtest.Faulty) { f.Hang(true) },
	"hang sync":             func(f *logtest.Faulty) { f.Hang(true, logtest.Sync) },
	"hang tail":             func(f *logtest.Faulty) { f.Hang(true, logtest.Tail) },
	"lose replies":          func(f *logtest.Faulty) { f.LoseReplies(errWire) },
	"deaf":                  func(f *logtest.Faulty) { f.DropTail(true) },
	"delay":                 func(f *logtest.Faulty) { f.Delay(bound / 5) },
	"delay beyond patience": func(f *logtest.Faulty) { f.Delay(bound) },
	"garble":                func(f *logtest.Faulty) { f.Corrupt(garble) },
}

// serverFaults are faults of the log's server. The snapshot is of an earlier time.
var serverFaults = map[string]func(m *memlog.Log, old memlog.Snapshot){
	"restore":           func(m *memlog.Log, old memlog.Snapshot) { m.Restore(old) },
	"lose":              func(m *memlog.Log, _ memlog.Snapshot) { m.Lose(1) },
	"rewind":            func(m *memlog.Log, _ memlog.Snapshot) { m.Rewind(1) },
	"restart":           func(m *memlog.Log, _ memlog.Snapshot) { m.Restart() },
	"trim all":          func(m *memlog.Log, _ memlog.Snapshot) { m.Trim(0) },
	"trim":              func(m *memlog.Log, _ memlog.Snapshot) { push(m); m.Trim(1) },
	"delete everything": func(m *memlog.Log, _ memlog.Snapshot) { m.Delete() },
	"delete meta":       func(m *memlog.Log, _ memlog.Snapshot) { m.Delete(memlog.Meta) },
	"delete keys":       func(m *memlog.Log, _ memlog.Snapshot) { m.Delete(memlog.Keys) },
	"delete scopes":     func(m *memlog.Log, _ memlog.Snapshot) { m.Delete(memlog.Scopes) },
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
func push(m *memlog.Log) {
	k, _ := key.Parse("default:nobody:1") // is valid
	_, _ = m.Sync(context.Background(), invalidate.Cursor{}, invalidate.Append{
		Keys: []invalidate.Fence{{Scope: invalidate.Key(k)}}, Scopes: []invalidate.Fence{{Scope: invalidate.Tag("default", "nobody")}},
	})
}

// The test combines each fault of the log with each kind of scope, while process 0 invalidates. A fault of
// the server comes right after that, and process 1 may be cut off until then. After one bound, both
// processes see an acknowledged invalidation. The process that called it sees it in any case.
// When the log has recovered, both agree, and both cache again.
func TestLogFaultMatrix(t *testing.T) {
	nothing := func(*duo, memlog.Snapshot) {}
	for name, scope := range scopes(t) {
		for fault, harm := range linkFaults {
			for i := range 2 {
				tryFault(t, fmt.Sprintf("%s %d/%s", fault, i, name), scope, func(w *duo) { harm(w.link[i]) }, nothing)
			}
		}
		for fault, harm := range serverFaults {
			tryFault(t, fault+"/"+name, scope, func(*duo) {}, func(w *duo, old memlog.Snapshot) { harm(w.log, old) })
			tryFault(t, fault+", unheard/"+name, scope, func(w *duo) { w.link[1].Fail(errWire) }, func(w *duo, old memlog.Snapshot) {
				harm(w.log, old)
				w.link[1].Heal()
			})
		}
	}
}

// tryFault plays one invalidation of s with a fault right before it, and one right after it.
func tryFault(t *testing.T, name string, s invalidate.Scope, before func(*duo), after func(*duo, memlog.Snapshot)) {
	for tier, as := range map[string]func(*tiertest.Faulty) tier.Remote{"plain": asIs, "looking": asLooker} {
		bubble(t, name+"/"+tier, func(t *testing.T) { invalidateIn(t, s, before, after, as) })
	}
}

func invalidateIn(t *testing.T, s invalidate.Scope, before func(*duo), after func(*duo, memlog.Snapshot), as func(*tiertest.Faulty) tier.Remote) {
	w := newDuo(t, logged, cache.TiersConfig{}, thingConfig{Tags: tagT}, as)
	w.want(t, 0, 1, "1.1")
	w.want(t, 1, 1, "1.1")
	old := w.log.Snapshot()
	before(w)
	acked := w.tiers[0].Invalidate(t.Context(), s) == nil
	at := time.Now()
	w.wantSince(t, 0, 1) // process 0 sees it at once
	after(w, old)
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
