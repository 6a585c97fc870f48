package logtest_test

import (
	"os"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// The mutants: what each breaks, and the subtest that must catch it.
var txMutants = []struct {
	name, caught string
	faults       faults
}{
	{"loses commits", "a_commit_reaches_every_process", faults{commitForgets: true}},
	{"shows what is not committed", "a_commit_reaches_every_process", faults{seesOpen: true}},
	{"commits what was rolled back", "a_rollback_leaves_nothing", faults{rollbackCommits: true}},
	{"forgets savepoints", savepoint, faults{savepointKeeps: true}},
	{"rolls all back to a savepoint", savepoint, faults{savepointDropsAll: true}},
	{"shows what is prepared", prepared, faults{prepareCommits: true}},
	{"loses what is prepared", prepared, faults{prepareForgets: true}},
	{"loses its own append beside a commit", "a_sync_returns_commits_and_what_it_appends", faults{syncForgetsOwn: true}},
	{"cuts what one record cannot hold", "a_transaction_of_many_scopes", faults{cutsMany: true}},
	{"takes bad scopes", refused, faults{takesBad: true}},
	{"waits for a Sync to number", "tail_finds_a_commit_that_no_sync_has_seen", faults{tailSleeps: true}},
	{"numbers in the order of appends", "writers_commit_in_the_reverse_order_of_their_appends", faults{byID: true}},
	{"forgets what is open", "an_old_transaction_stays_open", faults{lowIsNewest: true}},
	{"deletes rows it has not staged", "a_commit_while_a_sync_removes_cells", faults{clearsOutbox: true}},
	{"marks after the stage", "an_old_commit_while_a_sync_removes_cells", faults{lowAfterStage: true}},
	{"numbers before it removes", "cells_go_before_the_record_comes", faults{numbersFirst: true}},
	{"removes in the transaction", oldValue, faults{removesInAppend: true}},
	{"removes nothing", oldValue, faults{removesNothing: true}},
	{"deletes what it stages", "a_process_dies_while_it_removes_cells", faults{forgetsStaged: true}},
	{"numbers what it could not remove", "cells_that_cannot_be_removed_are_covered", faults{ignoresErrors: true}},
	{"deletes as many rows as it staged", "many_writers_and_many_syncs", faults{deletesByCount: true}},
	{"skips damaged rows", damagedRow, faults{skipsDamaged: true}},
	{"keeps damaged rows", damagedRow, faults{keepsDamaged: true}},
	{"stops at damaged rows", damagedRow, faults{stopsAtDamaged: true, keepsDamaged: true}},
	{"appends without tables", noTables, faults{appendsNowhere: true}},
	{"syncs without tables", noTables, faults{syncsNowhere: true}},
}

const (
	savepoint  = "a_savepoint_rolled_back_drops_its_part"
	prepared   = "a_prepared_transaction_waits_for_its_second_phase"
	refused    = "what_cannot_be_appended_is_refused"
	oldValue   = "no_old_value_survives_in_a_cell"
	damagedRow = "a_damaged_row_gives_up_what_is_older"
	noTables   = "without_tables_everything_fails"
)

func TestTransactionalCatchesMutants(t *testing.T) {
	caught := map[string]string{}
	for _, m := range txMutants {
		caught[m.name] = m.caught
	}
	catches(t, "TestTransactionalMutant", caught)
}

// TestTransactionalMutant is the process of one mutant; see TestTransactionalCatchesMutants.
func TestTransactionalMutant(t *testing.T) {
	name := os.Getenv(mutantEnv)
	if name == "" {
		name = sound
	}
	var f faults
	for _, m := range txMutants {
		if m.name == name {
			f = m.faults
		}
	}
	db := newFakeDB(f).transactional()
	db.Open = func(*testing.T) func() invalidate.Log {
		fresh := newFakeDB(f)
		return func() invalidate.Log { return &fakeHandle{db: fresh} }
	}
	logtest.TransactionalInBubble(t, db)
}
