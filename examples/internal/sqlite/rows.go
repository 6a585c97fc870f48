package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")     // no row matches, or a row refers to one that does not exist
	ErrTaken    = errors.New("already taken") // another row has a value that must be unique
	ErrCorrupt  = errors.New("the file is damaged or is not a database")
)

// Queryer runs statements: a *sql.DB, a *sql.Tx or a *sql.Conn.
type Queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Conn is a Queryer that returns the errors of this package. On databases other than SQLite
// it returns only ErrNotFound.
type Conn struct{ Queryer }

// In runs fn in a transaction on db, and commits it if fn returns nil.
func In(ctx context.Context, db *sql.DB, o *sql.TxOptions, fn func(c Conn) error) error {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return named(err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it always fails; after an error of fn, that error says more
	if err := fn(Conn{tx}); err != nil {
		return named(err)
	}
	return named(tx.Commit())
}

// Row is the argument of a scan function: a *sql.Row, or the current row of *sql.Rows.
type Row interface{ Scan(dest ...any) error }

// One returns the first row of a query, or [ErrNotFound].
func One[T any](ctx context.Context, c Conn, scan func(Row) (T, error), query string, args ...any) (T, error) {
	v, err := scan(c.QueryRowContext(ctx, query, args...))
	return v, named(err)
}

// List returns the rows of a query.
func List[T any](ctx context.Context, c Conn, scan func(Row) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, named(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, named(rows.Err())
}

// Value scans a row of one column.
func Value[T any](r Row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// Run executes a statement and returns the number of rows that it changed.
func (c Conn) Run(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := c.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, named(err)
	}
	return res.RowsAffected()
}

// Exec executes a statement that must change a row. If it changes none, Exec returns [ErrNotFound].
func (c Conn) Exec(ctx context.Context, query string, args ...any) error {
	n, err := c.Run(ctx, query, args...)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

// Insert adds a row and returns its id.
func (c Conn) Insert(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := c.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, named(err)
	}
	return res.LastInsertId()
}

// The result codes of SQLite that programs branch on (sqlite.org/rescode.html).
const (
	busy       = 5
	corrupt    = 11
	notADB     = 26
	foreignKey = 787
	primaryKey = 1555
	unique     = 2067
)

// coded is an error of the driver.
type coded interface {
	error
	Code() int
}

// isBusy reports whether another connection held a lock.
func isBusy(err error) bool {
	e, ok := errors.AsType[coded](err)
	return ok && e.Code()&0xff == busy
}

func named(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	e, ok := errors.AsType[coded](err)
	if !ok || errors.Is(err, ErrNotFound) || errors.Is(err, ErrTaken) || errors.Is(err, ErrCorrupt) {
		return err
	}
	switch code := e.Code(); {
	case code == foreignKey:
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case code == unique || code == primaryKey:
		return fmt.Errorf("%w: %w", ErrTaken, err)
	case code&0xff == corrupt || code&0xff == notADB:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// Millis scans a column of milliseconds since 1970 into a time. NULL is the zero time.
type Millis struct{ *time.Time }

// Scan implements [sql.Scanner].
func (m Millis) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*m.Time = time.Time{}
	case int64:
		*m.Time = time.UnixMilli(v).UTC()
	default:
		return fmt.Errorf("%T is not a time", src)
	}
	return nil
}

// ToMillis returns the argument for a time. The zero time is NULL.
func ToMillis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// JSON scans a column of JSON into what V points to.
type JSON struct{ V any }

// Scan implements [sql.Scanner].
func (j JSON) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return json.Unmarshal([]byte(v), j.V)
	case []byte:
		return json.Unmarshal(v, j.V)
	}
	return fmt.Errorf("%T is not JSON", src)
}

// ToJSON returns the argument for a value, as JSON.
func ToJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
