package sqllog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// explain adds what a database error means for a log. It recognizes errors by their codes and
// texts, because the package imports no driver.
func explain(err error) error {
	if errors.Is(err, ErrSchema) || errors.Is(err, ErrStandby) || errors.Is(err, ErrRights) {
		return err
	}
	for meaning, found := range map[error]bool{
		ErrSchema:  says(err, schemaCodes, append([]string{"no such table"}, columnTexts...)...),
		ErrStandby: says(err, standbyCodes, "attempt to write a readonly database"),
		ErrRights:  says(err, rightsCodes),
	} {
		if found {
			return fmt.Errorf("%w: %w", meaning, err)
		}
	}
	return err
}

// SQLSTATE codes of PostgreSQL, and numbers of MySQL.
var (
	schemaCodes  = []string{"42P01", "42703", "3F000", "1146", "1054"}
	standbyCodes = []string{"25006", "55000", "1290", "1792", "1836"}
	rightsCodes  = []string{"42501", "1142", "1143"}
	columnCodes  = []string{"42703", "1054"} // a column is missing
	thereCodes   = []string{"42701", "1060"} // a column that another process has added
	retryCodes   = []string{"40001", "40P01", "55P03", "25P03", "1062", "1205", "1213"}
)

// Texts of SQLite.
var (
	columnTexts = []string{"no such column", "has no column named"} // a column is missing
	thereTexts  = []string{"duplicate column name"}
)

// mayRetry reports whether a statement failed because of another statement, and certainly did not
// commit.
func mayRetry(err error) bool {
	return says(err, retryCodes, "database is locked", "SQLITE_BUSY", "database table is locked")
}

// mysqlNumber finds the number in the text of a MySQL error; the error type has no method for it.
var mysqlNumber = regexp.MustCompile(`Error (\d{4}) \(`)

// says reports whether an error has one of the codes, or one of the texts. The texts are SQLite's.
func says(err error, codes []string, texts ...string) bool {
	if err == nil {
		return false
	}
	code := ""
	if state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		code = state.SQLState()
	} else if m := mysqlNumber.FindStringSubmatch(err.Error()); m != nil {
		code = m[1]
	}
	if code != "" {
		return slices.Contains(codes, code)
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
}
