package sqllog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/twofold-go/twofold/invalidate"
)

var errUnfinished = errors.New("sqllog: not written yet")

func newStatements(c *Config) statements {
	return statements{outbox: c.Tables.qualified(c.Tables.Outbox)}
}

func explain(err error) error { return err }

// Sync gives every committed row without a number one, appends a, and returns what lies
// behind at; see [invalidate.Log].
func (l *Log) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	return invalidate.Page{}, errUnfinished
}

// Tail waits until something lies behind at and returns it; see [invalidate.Log].
func (l *Log) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	return invalidate.Page{}, errUnfinished
}

// NewEpoch starts a new epoch, which costs every process what it has cached, and clears
// the note of the fleet's remote tier.
func (l *Log) NewEpoch(ctx context.Context) error { return errUnfinished }

// Replica reports whether db, a pool on a read replica, has reached all that this process
// has applied. A loader asks it before it reads from the replica.
func (l *Log) Replica(ctx context.Context, db *sql.DB) (bool, error) { return false, errUnfinished }
