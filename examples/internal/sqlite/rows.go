package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/stephenafamo/scan"
	"github.com/stephenafamo/scan/stdscan"
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
}

// Conn is a Queryer that returns the errors of this package. On databases other than SQLite
// it returns only ErrNotFound. A [time.Time] argument is stored as milliseconds since 1970,
// the zero time as NULL, and a [time.Duration] as milliseconds.
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

// One returns the first row of a query, or [ErrNotFound]. The columns of a struct are those
// that its fields name in `db` tags, or in snake case. Any other T is the only column.
func One[T any](ctx context.Context, c Conn, query string, args ...any) (T, error) {
	v, err := stdscan.One(ctx, c, mapper[T](), query, bind(args)...)
	return v, named(err)
}

// List returns the rows of a query, read as by [One].
func List[T any](ctx context.Context, c Conn, query string, args ...any) ([]T, error) {
	all, err := stdscan.All(ctx, c, mapper[T](), query, bind(args)...)
	return all, named(err)
}

// Each calls fn for the rows of a query, read as by [One], until fn returns false.
func Each[T any](ctx context.Context, c Conn, fn func(T) bool, query string, args ...any) error {
	rows, err := stdscan.Cursor(ctx, c, mapper[T](), query, bind(args)...)
	if err != nil {
		return named(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		v, err := rows.Get()
		if err != nil {
			return named(err)
		}
		if !fn(v) {
			return nil
		}
	}
	return named(rows.Err())
}

// Run executes a statement and returns the number of rows that it changed.
func (c Conn) Run(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := c.ExecContext(ctx, query, bind(args)...)
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

// ToMillis returns the argument for a time. The zero time is NULL.
func ToMillis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// ToJSON returns the argument for a value, as JSON.
func ToJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

func bind(args []any) []any {
	all := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			arg = ToMillis(v)
		case time.Duration:
			arg = v.Milliseconds()
		}
		all[i] = arg
	}
	return all
}

func mapper[T any]() scan.Mapper[T] {
	if reflect.TypeFor[T]().Kind() == reflect.Struct {
		return scan.StructMapper[T](scan.WithTypeConverter(columns{}))
	}
	return scan.SingleColumnMapper[T]
}

// columns reads columns into fields. NULL is the zero value.
type columns struct{}

// TypeToDestination implements [scan.TypeConverter].
func (columns) TypeToDestination(t reflect.Type) reflect.Value {
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[time.Duration](), t == reflect.TypeFor[json.RawMessage](),
		t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return reflect.ValueOf(&column{reflect.New(t)})
	}
	return reflect.New(reflect.PointerTo(t))
}

// ValueFromDestination implements [scan.TypeConverter].
func (columns) ValueFromDestination(v reflect.Value) reflect.Value {
	if c, ok := reflect.TypeAssert[*column](v); ok {
		return c.to.Elem()
	}
	if p := v.Elem(); !p.IsNil() {
		return p.Elem()
	}
	return reflect.Zero(v.Type().Elem().Elem())
}

// column is a column of milliseconds or of JSON. to points to its value.
type column struct{ to reflect.Value }

// Scan implements [sql.Scanner].
func (c *column) Scan(src any) error {
	at, isTime := reflect.TypeAssert[*time.Time](c.to)
	d, isDuration := reflect.TypeAssert[*time.Duration](c.to)
	switch v := src.(type) {
	case nil:
		return nil
	case int64:
		if isTime {
			*at = time.UnixMilli(v).UTC()
			return nil
		}
		if isDuration {
			*d = time.Duration(v) * time.Millisecond
			return nil
		}
	case string:
		if !isTime && !isDuration {
			return json.Unmarshal([]byte(v), c.to.Interface())
		}
	}
	return fmt.Errorf("%T is not a %s", src, c.to.Type().Elem())
}
