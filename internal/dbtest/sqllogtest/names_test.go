package sqllogtest_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// namedAppend returns what a process appends for a key and a tag.
func namedAppend(t testing.TB) (invalidate.Append, []invalidate.Scope) {
	t.Helper()
	names := logwire.Names{}
	names.Add(key42(t))
	names.Add(org(1))
	a := invalidate.Append{Keys: []invalidate.Fence{key42(t).Fence()}, Scopes: []invalidate.Fence{org(1).Fence()}}
	a.KeyNames, a.ScopeNames = names.Spell(a.Keys), names.Spell(a.Scopes)
	return a, []invalidate.Scope{key42(t), org(1)}
}

// wantNames checks that a Sync shows so many fences, and names exactly these scopes. The second fence
// of a prefix counts.
func (p *process) wantNames(fences int, scopes ...invalidate.Scope) {
	p.t.Helper()
	keys, others := p.sync()
	named := map[invalidate.Scope]bool{}
	for _, rec := range append(keys, others...) {
		if rec.Bump || rec.Damaged {
			p.t.Errorf("record %+v, want none that starts an epoch or is damaged", rec)
		}
		got, _ := logwire.Read(rec.Names, rec.Fences)
		for _, s := range got {
			named[s] = true
		}
		fences -= len(rec.Fences)
	}
	if fences != 0 {
		p.t.Errorf("%d fences are missing", fences)
	}
	for _, s := range scopes {
		if !named[s] {
			p.t.Errorf("%v is not named", s)
		}
		delete(named, s)
	}
	if len(named) > 0 {
		p.t.Errorf("named are also %v", named)
	}
}

// Processes with Names and without share a log. Records of the former have names, which only the
// former read, whoever numbers a row.
func TestNames(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		named, other := r.process(t, sqllog.Config{Names: true}), r.process(t, sqllog.Config{Names: true})
		nameless := r.process(t, sqllog.Config{})
		a, scopes := namedAppend(t)
		prefix := invalidate.Prefix("default", "users:v1:4")
		named.append(a)
		other.wantNames(2, scopes...)
		nameless.wantNames(2)
		nameless.append(a)
		other.wantNames(2)
		named.wantNames(2)
		commit(t, r, named.log, key42(t), org(1), prefix, invalidate.All())
		named.wantNames(5, key42(t), org(1), prefix, invalidate.All())
		other.wantNames(5, key42(t), org(1), prefix, invalidate.All())
		nameless.wantNames(5, invalidate.All())
		commit(t, r, named.log, org(2))
		nameless.wantNames(1)
		named.wantNames(1)
		other.wantNames(1)
		if n := r.count(t, "SELECT count(*) FROM twofold_log WHERE names IS NOT NULL"); n != 4 {
			t.Errorf("%d records have names, want 4: the others have NULL", n)
		}
	})
}

// A process with Names goes on without the column, and warns once. Install and the migration add it.
// A process that read before keeps its position.
func TestNamesWithoutTheColumn(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		a, scopes := namedAppend(t)
		for name, upgrade := range map[string]func(){
			"Install":       func() { must(t, r.open(sqllog.Config{}).Install(t.Context())) },
			"the migration": func() { r.migrate(t, "migrate/0004_twofold_names.up.sql") },
		} {
			r.migrate(t, "migrate/0004_twofold_names.down.sql")
			var logged bytes.Buffer
			old := r.process(t, sqllog.Config{})
			early := r.process(t, sqllog.Config{Names: true, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			early.append(a)
			commit(t, r, early.log, org(1))
			early.wantNames(1)
			old.wantNames(3)
			if n := strings.Count(logged.String(), "0004_twofold_names"); n != 1 {
				t.Errorf("%d warnings name the migration, want 1:\n%s", n, &logged)
			}
			upgrade()
			must(t, r.open(sqllog.Config{}).Install(t.Context()))
			p := r.process(t, sqllog.Config{Names: true})
			p.append(a)
			late := r.process(t, sqllog.Config{Names: true})
			commit(t, r, p.log, scopes...)
			for what, p := range map[string]*process{"the writer": p, "another": late} {
				t.Log(name, what)
				p.wantNames(2, scopes...)
			}
			early.wantNames(4) // it reads no names until it is restarted, and loses no record
			old.wantNames(4)
		}
	})
}

// Tables without the column fail as before when something else is wrong.
func TestNamesWithoutTables(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{Names: true})
		r.exec(t, "DROP TABLE twofold_log")
		if _, err := p.log.Sync(t.Context(), p.at, oneKey()); !errors.Is(err, sqllog.ErrSchema) {
			t.Errorf("Sync without tables = %v, want ErrSchema", err)
		}
	})
}

// What others write into the column is at most ignored.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p, writer := r.process(t, sqllog.Config{Names: true}), r.process(t, sqllog.Config{Names: true})
		a, scopes := namedAppend(t)
		param := map[sqllog.Dialect]string{sqllog.Postgres: "$1"}[r.dialect]
		if param == "" {
			param = "?"
		}
		for _, names := range [][]byte{nil, {}, []byte("k\xff\xff\xff"), []byte("k\x05acme:"), bytes.Repeat([]byte("k\x00"), invalidate.MaxNames)} {
			writer.append(a)
			r.exec(t, "UPDATE twofold_log SET names = "+param, names)
			p.wantNames(2)
		}
		writer.append(a)
		p.wantNames(2, scopes...)
	})
}

// A commit of many keys has as many names as its record holds. Others have no names.
func TestManyNames(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{Names: true})
		scopes := make([]invalidate.Scope, 30*invalidate.MaxFences)
		for i := range scopes {
			scopes[i] = org(i + 1_000_000)
		}
		commit(t, r, p.log, scopes...)
		_, records := p.sync()
		fences, named, size := 0, 0, 0
		for _, rec := range records {
			got, _ := logwire.Read(rec.Names, rec.Fences)
			fences, named, size = fences+len(rec.Fences), named+len(got), max(size, len(rec.Names))
			if rec.Damaged || rec.Bump {
				t.Errorf("record %+v, want fences", rec.At)
			}
		}
		if fences != len(scopes) || size > invalidate.MaxNames || named < 5*invalidate.MaxNames/25 {
			t.Errorf("%d of %d fences, %d of them named, in records with up to %d bytes of names", fences, len(scopes), named, size)
		}
	})
}
