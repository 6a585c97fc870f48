package fence

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

type edit struct{ file, old, new string }

// wide makes the window between a tick and what follows it wide. The unchanged code must pass with it.
var wide = edit{"fences.go", "	now := stamp{f.tick.Add(1), pos, at}\n	if n != nil {", "	now := stamp{f.tick.Add(1), pos, at}\n	time.Sleep(20 * time.Microsecond)\n	if n != nil {"}

// Each mutant breaks one rule, and the worlds must find it. MUTANTS=1 runs all, MUTANTS=3,7 some.
var mutants = []struct {
	name  string
	edits []edit
}{
	{"", nil}, // must pass
	{"", []edit{wide}},
	{"a node is not announced before the tick", []edit{wide, {"fences.go", "		n.set(announced, isSoft, at)\n	}\n	told", "	}\n	told"}}},
	{"the entry of a key is ended after the tick", []edit{wide,
		{"fences.go", "	if before != nil && !before(at) {\n		return false\n	}\n	n, all", "	n, all"},
		{"fences.go", "	if after != nil {\n		after(now)\n	}\n", "	if after != nil {\n		after(now)\n	}\n	if before != nil && !before(at) {\n		return false\n	}\n"}}},
	{"the entry of a key stays", []edit{{"fences.go", "n.owner.EndKey(text[len(n.stem):], Forever)", "_ = at"}}},
	{"an Expire of a key does not reach its entry", []edit{{"fences.go", "n.owner.EndKey(text[len(n.stem):], at)", "_ = at"}}},
	{"no history of invalidations", []edit{{"fences.go", "		s.hard[k].note(id, now, most[k])", "		_ = now"}}},
	{"no history of Expires", []edit{{"fences.go", "		s.soft.note(id, now, mostSoft)", "		_ = now"}}},
	{"what is forgotten counts as old", []edit{{"history.go", "		h.forgot = h.forgot.later(h.top[1])\n", ""}}},
	{"what is noted anew forgets a higher position", []edit{{"history.go", "	if now.pos < h.newest().pos {", "	if false {"}}},
	{"a load is not compared by its key", []edit{{"check.go", "	if v.see(at, id, ofKey); v.covered {\n		return false\n	}\n	store", "	store"}}},
	{"a load is not compared by what it depends on", []edit{{"check.go", "		v.see(at, d.id, d.kind)\n		nodes =", "		nodes ="}}},
	{"a load is compared before the node's lock", []edit{{"check.go", "		at := f.of(d.id)\n		at.mu.Lock()\n		defer at.mu.Unlock()\n		v.see(at, d.id, d.kind)\n		nodes", "		v.depends(d)\n		at := f.of(d.id)\n		at.mu.Lock()\n		defer at.mu.Unlock()\n		nodes"}}},
	{"a load is not compared with its namespace", []edit{{"check.go", "	v.wide(in, s.Key)\n	if v.forgot {\n		f.given.Add(1)\n	}\n	return nodes", "	return nodes"}}},
	{"a load by its newest tick", []edit{{"world_internal_test.go", "	t, ok := p.put(i, value, m, on, store, false)", "	m.Tick = p.Tick()\n	t, ok := p.put(i, value, m, on, store, false)"}}},
	{"a cut is not compared", []edit{{"namespace.go", "		case !strings.HasPrefix(text, c.text):", "		case true:"}}},
	{"a cut that left the list is forgotten", []edit{{"namespace.go", "	if n.lost.Load() > seen {", "	if false {"}}},
	{"a frame is not compared with cuts that left the list", []edit{{"check.go", "n.gone[hard].pos <= m && ", ""}}},
	{"cuts that leave keep the last one's position", []edit{{"namespace.go", "for _, c := range kept[mostCuts:] {", "for _, c := range kept[mostCuts : mostCuts+1] {"}}},
	{"an announced cut is ignored", []edit{{"namespace.go", "newest == announced && strings", "false && strings"}, {"fences.go", "	now := stamp{f.tick.Add(1), pos, at}\n	if n != nil {", "	now := stamp{f.tick.Add(1), pos, at}\n	time.Sleep(200 * time.Microsecond)\n	if n != nil {"}}},
	{"an Expire of a node is not seen", []edit{{"check.go", "if d.soft.Load() > seen {", "if false {"}}},
	{"a prefix does not reach namespaces", []edit{{"fences.go", "		cover(whole, isSoft, at)\n", ""}, {"fences.go", "		announce(whole, isSoft)\n", ""}}},
	{"a prefix does not reach built values", []edit{{"deps.go", "			if !do(dependency{idOf(ofStem, h), ofStem, h == invalidate.AnyTag}) {\n				return false\n			}", "			_ = h"}}},
	{"a key does not reach built values", []edit{{"deps.go", "			if !do(dependency{idOf(ofKey, h), ofKey, h == invalidate.AnyTag}) {\n				return false\n			}", "			_ = h"}}},
	{"a stub has no node", []edit{{"deps.go", "		if n < 0 {", "		if true {"}}},
	{"a key that nobody spells has no node", []edit{{"check.go", "if !in.owner.Spells() {", "if false {"}}},
	{"any tag has no node", []edit{{"fences.go", "	if !m.used.Load() {\n		return false\n	}", "	if true {\n		return false\n	}"}}},
	{"any tag is used after the history was asked", []edit{{"check.go", "			all.used.Store(true) // before the history is asked\n", ""}}},
	{"a namespace opens without the past", []edit{{"namespace.go", "n.hard.Store(n.past.tick)", "n.past = stamp{}"}}},
	{"a namespace that opens is missed", []edit{{"fences.go", "case f.opened.Load() != opened:", "case opened == announced:"}, {"fences.go", "		n := f.holding(text)\n", "		n := f.holding(text)\n		time.Sleep(50 * time.Microsecond)\n"}}},
	{"a frame is not compared by its key", []edit{{"check.go", "known && st.pos > v.mark.Key", "known && st.pos > 1<<60"}}},
	{"a frame is not compared by what it depends on", []edit{{"check.go", "at.hard[d.kind].of(d.id).pos <= than", "true"}}},
	{"a frame is not compared with its namespace", []edit{{"check.go", "n.past.pos <= m && ", ""}}},
	{"a frame is not compared with cuts", []edit{{"check.go", "		case !c.soft:\n			v.ok = false", "		case !c.soft:"}}},
	{"a frame is not compared with Expires", []edit{{"check.go", "	case st.pos > v.mark.Scope && (v.fresh", "	case false && (v.fresh"}}},
	{"the position moves before the record is applied", []edit{{"world_internal_test.go", "			p.apply(rec)\n			at := p.Cursor()", "			defer p.apply(rec)\n			at := p.Cursor()"}}},
	{"a lag is not looked at", []edit{{"check.go", "	return v.covered || v.fresh != Forever\n", "	return false\n"}}},
	{"a lag is compared by ticks", []edit{{"check.go", " || st.at > v.since }", " }"}}},
	{"a lag after what is forgotten", []edit{{"history.go", "h.forgot = h.forgot.later(h.top[1])", "at := h.forgot.at; h.forgot = h.forgot.later(h.top[1]); h.forgot.at = at"}}},
	{"a lag is not compared with an Expire", []edit{{"check.go", "	return v.covered || v.fresh != Forever\n", "	return v.covered\n"}}},
	{"a lag is not compared with a namespace", []edit{{"check.go", "	if v.since == Forever && in.Quiet(", "	if v.since != Forever || in.Quiet("}}},
	{"nodes are not dropped", []edit{{"worldlocal_internal_test.go", "	l.f.Drop(t.nodes)\n", ""}}},
	{"a refused load keeps its nodes", []edit{{"worldlocal_internal_test.go", "	if !ok {\n		p.local.gone(t)\n	}\n", ""}}},
	{"a sweep does not look at the count", []edit{{"table.go", "n.refs.Load() == 0 && ", ""}}},
	{"of equal cuts the first one stays", []edit{{"namespace.go", "same.stamp = same.later(c.stamp)", "*same = c"}}},
	{"equal cuts forget a higher position", []edit{{"namespace.go", "same.stamp = same.later(c.stamp)", "_ = same"}}},
	{"namespaces of everything take one tick after the other", []edit{{"fences.go", "	announce(open, isSoft)\n	now := stamp{f.tick.Add(1), pos, at}\n	cover(open, isSoft, now)", "	var now stamp\n	for _, n := range open {\n		announce([]*Namespace{n}, isSoft)\n		now = stamp{f.tick.Add(1), pos, at}\n		cover([]*Namespace{n}, isSoft, now)\n		time.Sleep(100 * time.Microsecond)\n	}"}}},
}

// TestMutants always checks that each mutant still applies.
func TestMutants(t *testing.T) {
	for i, m := range mutants {
		dir, replace, text := t.TempDir(), map[string]string{}, map[string]string{}
		for _, e := range m.edits {
			if text[e.file] == "" {
				b, err := os.ReadFile(e.file)
				if err != nil {
					t.Fatal(err)
				}
				text[e.file] = string(b)
			}
			if n := strings.Count(text[e.file], e.old); n != 1 {
				t.Fatalf("%d %s: %d times in %s: %q", i, m.name, n, e.file, e.old)
			}
			text[e.file] = strings.Replace(text[e.file], e.old, e.new, 1)
		}
		if only := os.Getenv("MUTANTS"); only != "1" && !strings.Contains(","+only+",", ","+strconv.Itoa(i)+",") {
			continue // it takes five seconds
		}
		for file, s := range text {
			to := filepath.Join(dir, file)
			if err := os.WriteFile(to, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
			from, _ := filepath.Abs(file)
			replace[from] = to
		}
		b, _ := json.Marshal(map[string]any{"Replace": replace})
		overlay := filepath.Join(dir, "overlay.json")
		if err := os.WriteFile(overlay, b, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout", "2m", "-run", "World$|WorldOf|Positions|Recent", "-v", "-overlay", overlay, ".").CombinedOutput()
		said := ""
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "world_internal_test.go:") && !strings.Contains(line, "leak") || strings.Contains(line, "leak") && !strings.Contains(said, "leak") || strings.Contains(line, ".go:") && (strings.Contains(line, "undefined") || strings.Contains(line, "declared")) || strings.Contains(line, "panic:") {
				said += "\n\t" + strings.TrimSpace(line)
			}
		}
		if built := !strings.Contains(string(out), "build failed"); (err == nil) != (m.name == "") || !built {
			t.Errorf("%d %q: %v%s", i, m.name, err, said)
		} else {
			t.Logf("%d %q: as expected%s", i, m.name, said)
		}
	}
}
