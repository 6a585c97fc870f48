package sqltier

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrConfig is wrapped by what [Tier.Validate] says about a [Config].
	ErrConfig = errors.New("sqltier: bad configuration")

	// ErrSchema means that the database has no table of cells, or another one. It
	// names the migration to run.
	ErrSchema = errors.New("sqltier: table is missing or different: apply the migration 0002_twofold_cells of sqltier.Migrations, or call Tier.Install")

	errLengths = errors.New("batch of unequal lengths")
)

// fail names the operation, and the error of a missing table.
func fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case schemaFault(err):
		err = fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return fmt.Errorf("sqltier: %s: %w", op, err)
}

// schemaFault tells a missing table, column or schema from other errors.
func schemaFault(err error) bool {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		switch e.SQLState() {
		case "42P01", "42703", "3F000": // undefined table, column, schema
			return true
		}
		return false
	}
	text := err.Error() // SQLite has no code of its own for them
	return strings.Contains(text, "no such table") || strings.Contains(text, "no such column") || strings.Contains(text, "has no column named")
}
