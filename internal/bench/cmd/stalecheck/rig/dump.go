package rig

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/redistest"
)

// tables are all tables of a run, the source first.
var tables = []string{"source", "twofold_outbox", "twofold_log", "twofold_meta"}

// oldTables restores a dump into the running server. Every second time the dump is restored beside
// the database, and then takes its name.
func oldTables(r *Rig) loss {
	beside := r.losses%2 == 1
	l := loss{what: "a dump restored into the running server"}
	if beside {
		l.what = "a dump restored beside, and renamed"
	}
	var dump []byte
	l.fork = func() { dump = r.dump() }
	l.swap = func() {
		r.unseen(func() {
			if beside {
				r.restoreBeside(dump)
			} else {
				r.restoreInPlace(dump)
			}
		})
	}
	return l
}

func (r *Rig) restoreInPlace(dump []byte) {
	drop := "DROP DATABASE " + database
	if r.pg != nil {
		drop += " WITH (FORCE)" // the observer is connected
	}
	r.admin(drop, "CREATE DATABASE "+database)
	r.load(database, dump)
}

// restoreBeside makes another database, and gives it the name. MariaDB renames tables only.
func (r *Rig) restoreBeside(dump []byte) {
	lost, beside := fmt.Sprint("lost", r.losses), fmt.Sprint("beside", r.losses)
	r.admin("CREATE DATABASE " + beside)
	r.load(beside, dump)
	if r.pg != nil {
		r.admin("ALTER DATABASE " + database + " ALLOW_CONNECTIONS false")
		redistest.Eventually(r.t, "the database cannot be renamed", func(context.Context) error {
			return setup.Try(func() {
				r.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+database+"'",
					"ALTER DATABASE "+database+" RENAME TO "+lost)
			})
		})
		r.admin("ALTER DATABASE " + beside + " RENAME TO " + database)
		return
	}
	var moves []string
	for _, t := range tables {
		moves = append(moves, fmt.Sprintf("%s.%s TO %s.%s, %s.%s TO %s.%s", database, t, lost, t, beside, t, database, t))
	}
	r.admin("CREATE DATABASE "+lost, "RENAME TABLE "+strings.Join(moves, ", "))
}

// oldRows puts older rows back into the same tables. On a server a dump of the data is loaded, after
// TRUNCATE and after DELETE in turn.
func oldRows(r *Rig) loss {
	if r.file != nil {
		return r.oldFileRows()
	}
	empty := []string{"TRUNCATE ", "DELETE FROM "}[r.losses%2]
	l := loss{what: "old rows put back, after " + strings.TrimSpace(empty)}
	var dump []byte
	l.fork = func() { dump = r.dump("--data-only", "--no-create-info") }
	l.swap = func() {
		r.unseen(func() {
			for _, t := range tables {
				r.exec(empty + t)
			}
			r.load(database, dump)
		})
	}
	return l
}

// emptied empties the tables of the log, or only its records. Rows without a number stay.
func emptied(r *Rig) loss {
	gone := tables[2:]
	if r.losses%2 == 1 {
		gone = gone[:1]
	}
	empty := "TRUNCATE "
	if r.file != nil {
		empty = "DELETE FROM "
	}
	return loss{what: "empty tables: " + strings.Join(gone, ", "), fork: func() {}, swap: func() {
		for _, t := range gone {
			r.exec(empty + t)
		}
	}}
}

// dump returns a text dump of the database. The options are those of PostgreSQL and of MariaDB for
// the same purpose.
func (r *Rig) dump(dataOnly ...string) []byte {
	if r.pg != nil {
		return r.program(nil, "pg_dump", append(r.login("-p", "-U", "postgres"), append(dataOnly[:min(1, len(dataOnly))], database)...)...)
	}
	args := append([]string{"--no-defaults"}, r.login("-P", "-u", "root")...)
	return r.program(nil, "mariadb-dump", append(append(args, dataOnly[min(1, len(dataOnly)):]...), "--single-transaction", database)...)
}

// load runs a dump in a database.
func (r *Rig) load(into string, dump []byte) {
	if r.pg != nil {
		r.program(dump, "psql", append(r.login("-p", "-U", "postgres"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", into)...)
		return
	}
	r.program(dump, "mariadb", append(append([]string{"--no-defaults"}, r.login("-P", "-u", "root")...), into)...)
}

// login returns the arguments that name the server and its user.
func (r *Rig) login(port, as, user string) []string {
	h, p, _ := net.SplitHostPort(r.dbAddr()) // it has a port
	return []string{"-h", h, port, p, as, user}
}

// program runs a client program of the database, and returns what it prints.
func (r *Rig) program(input []byte, name string, args ...string) []byte {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &said
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("rig: %s: %w\n%s", name, err, said.String())
	}
	return out
}
