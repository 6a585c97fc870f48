package main

import (
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
)

// ciDatabases takes less than 30 seconds: two databases with every step of a numbering and with
// tables that go back while the processes run, and the failure that the outbox prevents.
func ciDatabases(base runConfig) []runConfig {
	base.Duration = 4 * time.Second
	return slices.Concat(
		under(in(worker.SQLite, base), "steps"),
		under(in(worker.Postgres, base), "steps"),
		without(in(worker.SQLite, base), noOutbox, "committed"),
		under(plain(in(worker.Postgres, base)), "committed"),
		without(plain(in(worker.SQLite, base)), noTriggers, "committed"),
		under(in(worker.SQLite, base), "db-copy"),
		under(in(worker.Postgres, base), "db-dump"),
	)
}

// databases returns every fault of a log in a database, then its controls.
func databases(d time.Duration) []runConfig {
	base := defaults()
	base.Duration = d
	short := base
	short.Bound = quarter
	pg, file := in(worker.Postgres, short), in(worker.SQLite, short)
	return slices.Concat(
		under(pg, "none", "pause", "crash", "partition", "stall", "mix",
			"committed", "steps", "freeze", "unanswered", "db-kill", "db-copy", "db-standby", "db-trim"),
		under(in(worker.Postgres, base), "steps", "db-kill", "db-copy", "db-standby"),
		under(file, "none", "pause", "crash", "committed", "steps", "freeze", "db-copy", "db-trim"),
		under(in(worker.SQLite, base), "steps", "db-copy"),
		under(cellsThere(file), "steps", "freeze", "db-copy", "db-trim"),
		under(cellsThere(pg), "steps", "db-kill", "db-copy"),
		under(composed(pg), "steps", "partition", "db-copy"),
		under(composed(file), "steps"),
		under(strict(pg), "steps", "db-copy"),
		under(strict(file), "steps"),
		under(plain(pg), "committed", "crash", "mix", "unanswered"),
		under(plain(file), "committed", "crash"),
		under(plain(brief(in(worker.MariaDB, short))), "committed"),
		databaseControls(pg, file),
		backwards(brief(pg), brief(file), brief(in(worker.MariaDB, short))),
	)
}

// backwards returns the runs in which tables go back, or are emptied, while the processes run; then
// the controls.
func backwards(pg, file, my runConfig) []runConfig {
	slow := pg
	slow.Bound = defaults().Bound
	return slices.Concat(
		under(pg, "db-dump", "db-rows", "db-empty", "db-ids"),
		under(my, "steps", "partition", "db-copy", "db-dump", "db-rows", "db-empty", "db-ids"),
		under(file, "db-rows", "db-empty", "db-ids"),
		under(slow, "db-dump"),
		under(composed(pg), "db-dump"),
		under(strict(pg), "db-rows"),
		without(pg, witness, "db-dump", "db-rows"),
		without(pg, "epochs,run-id,ids,"+witness, "db-empty"), // a gap of the log starts an epoch, too
		without(my, witness, "db-dump", "db-rows"),
		without(file, witness, "db-copy", "db-rows"),
	)
}

// brief runs are long enough for three losses.
func brief(c runConfig) runConfig {
	c.Duration = max(c.Duration*3/5, 4*time.Second)
	return c
}

// witness are the safeguards that notice tables which went back while the server runs, or with their
// file. Without them the cells of the lost history still tell some processes.
const witness = "memory,place,ahead"

func databaseControls(pg, file runConfig) []runConfig {
	return slices.Concat(
		without(pg, noOutbox, "committed"),
		without(file, noOutbox, "committed"),
		without(plain(pg), noTriggers, "none"),
		without(plain(file), noTriggers, "committed"),
		without(busy(pg), cellsFirst, "db-trim"),
		without(busy(file), cellsFirst, "db-trim"),
		without(pg, "run-id,ids", "db-standby"),
		without(pg, "run-id,ids,"+witness, "db-copy"),
		without(pg, "content", "db-ids"),
		spare(pg, "run-id,ids", "db-copy"), // the witness notices it, too
	)
}

// busy writes each key twice as often.
func busy(c runConfig) runConfig {
	c.WritePause /= 2
	return c
}

// plain has writers that know nothing of the log.
func plain(c runConfig) runConfig {
	c.Plain = true
	return c
}

// in puts the source and the log into a database.
func in(db string, c runConfig) runConfig {
	c.DB = db
	return c
}

// cellsThere puts the cells into the database as well.
func cellsThere(c runConfig) runConfig {
	c.DBCells = true
	return c
}
