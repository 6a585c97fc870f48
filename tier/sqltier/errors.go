package sqltier

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrConfig is wrapped by the errors of [Tier.Validate].
	ErrConfig = errors.New("sqltier: bad configuration")

	// ErrSchema means that the table of cells is missing or different. Its text names the
	// migration to run.
	ErrSchema = errors.New("sqltier: table is missing or different: apply the migration 0002_twofold_cells of sqltier.Migrations, or call Tier.Install")

	errLengths = errors.New("batch of unequal lengths")
)

// fail names the operation, and adds ErrSchema when the table is missing.
func fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case schemaFault(err):
		err = fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return fmt.Errorf("sqltier: %s: %w", op, err)
}

// schemaFault reports whether err is about a missing table, column or schema.
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
	text := err.Error() // SQLite has no code for them
	return strings.Contains(text, "no such table") || strings.Contains(text, "no such column") || strings.Contains(text, "has no column named")
}
