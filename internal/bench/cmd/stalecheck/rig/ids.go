package rig

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/worker"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// again is how many ids of the outbox are used twice.
const again = 20

// idsAgain stops a worker that is about to number rows. The others number these rows, and then the
// ids of the outbox begin again, as after TRUNCATE with RESTART IDENTITY. A transaction writes new
// rows with the ids that the worker knows. The worker goes on before any other sees the new rows.
func idsAgain(ctx context.Context, r *Rig) string {
	i, others := r.split()
	step := []string{worker.Staged, worker.Removed}[r.turn()%2]
	if !r.stoppedAt(i, step) {
		r.workers[i].Resume()
		return fmt.Sprintf("worker %d never was at %s", i, step)
	}
	what := fmt.Sprintf("worker %d at %s: ", i, step)
	if r.file != nil && !r.free() { // another goroutine of the worker holds the lock
		what += "it holds the lock"
	} else {
		what += r.useAgain(ctx, others)
	}
	r.workers[i].Resume()
	proc.Sleep(r.t.Context(), 4*settle) // the worker numbers what it knows
	r.back(others)
	proc.Sleep(ctx, 2*r.cfg.Bound)
	return what
}

// useAgain commits rows with the last ids of the outbox, and leaves the others disconnected.
func (r *Rig) useAgain(ctx context.Context, others []int) string {
	last := r.number(ids[r.cfg.DB].last)
	for range 5 {
		proc.Sleep(ctx, 3*sqllog.DefaultPoll/2) // the others number the rows
		r.away(others, (*redistest.Proxy).Drop) // they hold no locks
		time.Sleep(settle)                      // the server ends their transactions
		if r.empty() {
			// A transaction that has not ended may hold one of these ids.
			err := setup.Try(func() {
				r.exec(fmt.Sprintf(ids[r.cfg.DB].set, max(last-again+1, 1)))
				r.direct(r.commitRows)
				setup.Check(r.observer.look(r.t.Context()))
			})
			if err != nil {
				return "ids cannot begin again: " + err.Error()
			}
			return fmt.Sprintf("ids up to %d are used again", last)
		}
		r.back(others)
	}
	return "rows are pending, no id is used again"
}

// The last id of the outbox that was given out, and how the next one is set.
var ids = map[string]struct{ last, set string }{
	worker.Postgres: {"SELECT last_value FROM twofold_outbox_id_seq", "SELECT setval('twofold_outbox_id_seq', %d, false)"},
	worker.MariaDB: {
		"SELECT auto_increment - 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'twofold_outbox'",
		"SET STATEMENT lock_wait_timeout = 1 FOR ALTER TABLE twofold_outbox AUTO_INCREMENT = %d",
	},
	worker.SQLite: {"SELECT seq FROM sqlite_sequence WHERE name = 'twofold_outbox'", "UPDATE sqlite_sequence SET seq = %d - 1 WHERE name = 'twofold_outbox'"},
}

// empty reports whether the outbox has no rows.
func (r *Rig) empty() bool { return r.number("SELECT count(*) FROM twofold_outbox") == 0 }

// commitRows changes as many keys as ids are used again, each with its row, in one transaction.
func (r *Rig) commitRows(db *sql.DB) {
	tx := setup.Must(db.BeginTx(r.t.Context(), nil))
	defer func() { _ = tx.Rollback() }() // after COMMIT it does nothing
	var rows []string
	for n := range again {
		key := (r.losses*again + n) % r.cfg.Keys
		setup.Must(tx.ExecContext(r.t.Context(), fmt.Sprintf("UPDATE source SET version = %d WHERE id = %d", proc.Now()<<8|255, key)))
		rows = append(rows, fmt.Sprintf(`('[["k","%s"]]')`, worker.FullName(key)))
	}
	setup.Must(tx.ExecContext(r.t.Context(), "INSERT INTO twofold_outbox (scopes) VALUES "+strings.Join(rows, ", ")))
	setup.Check(tx.Commit())
}
