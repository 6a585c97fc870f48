package sqltext

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Sub returns the migrations of a dialect, or nil if there are none.
func Sub(migrations fs.FS, dialect string) fs.FS {
	sub, err := fs.Sub(migrations, "migrations/"+dialect)
	if err == nil {
		_, err = fs.Stat(sub, ".")
	}
	if err != nil {
		return nil
	}
	return sub
}

// Up returns the statements of all migrations of a dialect, or of those with a name, or "" if there are
// none. Each statement ends with a semicolon and a newline.
func Up(migrations fs.FS, dialect, name string) string {
	var text strings.Builder
	files, _ := fs.Glob(migrations, "migrations/"+dialect+"/migrate/"+cmp.Or(name, "*")+".up.sql") // the pattern is well formed
	for _, file := range files {
		b, _ := fs.ReadFile(migrations, file) // embedded, so it can be read
		text.Write(b)
	}
	return text.String()
}

// Apply runs the statements of migrations with the names of a configuration. It skips columns that are
// there already.
func Apply(ctx context.Context, db *sql.DB, text string, names *strings.Replacer) error {
	for statement := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, names.Replace(statement)); err != nil && !Says(err, There) {
			return err
		}
	}
	return nil
}

// IsForeign reports whether there is a table of a name that lacks one of the columns: it is not ours.
func IsForeign(ctx context.Context, db *sql.DB, table, columns string) (bool, error) {
	rows, err := db.QueryContext(ctx, "SELECT "+columns+" FROM "+table+" WHERE 1 = 0")
	if err == nil {
		defer func() { _ = rows.Close() }() // it has no rows
		err = rows.Err()
	}
	switch {
	case Says(err, NoColumn):
		return true, nil
	case Says(err, NoTable):
		return false, nil
	}
	return false, err
}

// Install calls install at most eleven times, until it succeeds. When two processes create the same
// table, index or function, PostgreSQL fails one. The pauses are random, because such processes
// start together.
func Install(ctx context.Context, install func(context.Context) error) error {
	err := install(ctx)
	for range 10 {
		if err == nil || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(rand.N(100 * time.Millisecond)): // let the other process finish
		case <-ctx.Done():
		}
		err = install(ctx)
	}
	return err
}

// ErrPooled explains an error that means Pooled.
var ErrPooled = errors.New("a pooler gives each transaction another session, so prepared statements are lost: " +
	"set default_query_exec_mode=exec in the address (pgx) or binary_parameters=yes (lib/pq), " +
	"or max_prepared_statements in PgBouncer 1.21 or newer")

// Meaning is what an error of a database says: SQLSTATE codes of PostgreSQL and numbers of MariaDB, or
// texts of SQLite.
type Meaning struct {
	codes, texts []string
}

// The meanings of errors.
var (
	NoColumn = Meaning{[]string{"42703", "1054"}, []string{"no such column", "has no column named"}}
	NoTable  = Meaning{[]string{"42P01", "3F000", "1146"}, []string{"no such table"}}
	There    = Meaning{[]string{"42701", "1060"}, []string{"duplicate column name"}} // a column that another process has added
	Standby  = Meaning{[]string{"25006", "55000", "1290", "1792", "1836"}, []string{"attempt to write a readonly database"}}
	NoRight  = Meaning{codes: []string{"42501", "1142", "1143"}}
	Pooled   = Meaning{codes: []string{"42P05", "26000"}} // a prepared statement of another session; see ErrPooled

	// Retry means that a statement failed because of another one, and certainly did not commit.
	Retry = Meaning{
		[]string{"40001", "40P01", "55P03", "25P03", "1062", "1205", "1213"},
		[]string{"database is locked", "SQLITE_BUSY", "database table is locked"},
	}
)

// mariadbNumber finds the number in the text of an error of MariaDB; the error type has no method for it.
var mariadbNumber = regexp.MustCompile(`Error (\d{4}) \(`)

// Says reports whether an error has one of the meanings.
func Says(err error, meanings ...Meaning) bool {
	if err == nil {
		return false
	}
	code := ""
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		code = state.SQLState()
	} else if m := mariadbNumber.FindStringSubmatch(err.Error()); m != nil {
		code = m[1]
	}
	return slices.ContainsFunc(meanings, func(m Meaning) bool {
		if code != "" {
			return slices.Contains(m.codes, code)
		}
		return slices.ContainsFunc(m.texts, func(text string) bool { return strings.Contains(err.Error(), text) })
	})
}
