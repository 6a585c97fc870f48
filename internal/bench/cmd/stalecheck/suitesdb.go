package main

import (
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
)

// ciDatabases takes less than 20 seconds: each database with every step of a numbering, and the
// failure that the outbox prevents.
func ciDatabases(base runConfig) []runConfig {
	base.Duration = 4 * time.Second
	return slices.Concat(
		under(in(worker.SQLite, base), "steps"),
		under(in(worker.Postgres, base), "steps"),
		without(in(worker.SQLite, base), noOutbox, "committed"),
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
		databaseControls(pg, file),
	)
}

func databaseControls(pg, file runConfig) []runConfig {
	return slices.Concat(
		without(pg, noOutbox, "committed"),
		without(file, noOutbox, "committed"),
		without(busy(pg), cellsFirst, "db-trim"),
		without(busy(file), cellsFirst, "db-trim"),
		without(pg, "run-id,ids", "db-copy", "db-standby"),
	)
}

// busy writes each key twice as often.
func busy(c runConfig) runConfig {
	c.WritePause /= 2
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
