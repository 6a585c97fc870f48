package logtest

import (
	"strings"

	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/invalidate"
)

// keepsNames reports whether the log keeps names.
func (r *reader) keepsNames() bool {
	k, ok := unwrap.As[invalidate.NameKeeper](r.log)
	return ok && k.KeepsNames()
}

// wantNames checks the names of the last records. A log that keeps no names drops them.
func (r *reader) wantNames(keys, scopes string) {
	r.t.Helper()
	if !r.keepsNames() {
		keys, scopes = "", ""
	}
	if k, s := last(r.keys).Names, last(r.scopes).Names; k != keys || s != scopes {
		r.t.Errorf("names come back as %.40q (%d bytes) and %.40q (%d bytes), want %.40q (%d) and %.40q (%d)",
			k, len(k), s, len(s), keys, len(keys), scopes, len(scopes))
	}
}

// logNames appends names of any bytes. The first reader gets its own records back, the second one
// by Sync, the third by Tail, and the last one among others.
func logNames(t *logTest) {
	writer, synced, tailed := t.reader(), t.reader(), t.reader()
	for i, names := range []string{
		"k\x05t:n:1", "", "\x00", "\xff\xfe, not UTF-8: \xc3\x28", "'; \"\\$1 ? %s \r\n{}", "", "é世界",
		strings.Repeat("\x00\xff", invalidate.MaxNames/2),
	} {
		a := bothAppend(i)
		a.KeyNames, a.ScopeNames = names, names
		if i%2 > 0 && names != "" {
			a.KeyNames = names[1:]
		}
		writer.sync(a)
		synced.sync(invalidate.Append{})
		tailed.tailTo(writer)
		for _, r := range []*reader{writer, synced, tailed} {
			r.wantNames(a.KeyNames, a.ScopeNames)
			r.wantLast(a)
		}
	}
	all := t.reader()
	all.wantSame(writer)
	one := keyAppend(9) // beside a record without names, and names without a record
	one.KeyNames, one.ScopeNames = "one", "none"
	before := last(writer.scopes)
	writer.sync(one)
	writer.wantNames("one", before.Names)
	all.sync(invalidate.Append{})
	all.wantSame(writer)
}

func logLongNames(t *logTest) {
	writer, other := t.reader(), t.reader()
	a := bothAppend(1)
	a.KeyNames, a.ScopeNames = strings.Repeat("k", invalidate.MaxNames+1), "short"
	writer.sync(a)
	other.sync(invalidate.Append{})
	for _, r := range []*reader{writer, other} {
		r.wantLast(a)
		r.wantNames("", "short")
	}
}
