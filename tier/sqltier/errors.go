package sqltier

import (
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/sqltext"
)

var (
	// ErrConfig is wrapped by the errors of [Tier.Validate].
	ErrConfig = errors.New("sqltier: bad configuration")

	// ErrSchema means that the table of cells is missing or different. Its text names the
	// migration to run.
	ErrSchema = errors.New("sqltier: table is missing or different: apply the migration 0002_twofold_cells of sqltier.Migrations, or call Tier.Install")
)

// fail names the operation, and adds what the error of the database means for the tier.
func fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case sqltext.Says(err, sqltext.NoTable, sqltext.NoColumn):
		err = fmt.Errorf("%w: %w", ErrSchema, err)
	case sqltext.Says(err, sqltext.Pooled):
		err = fmt.Errorf("%w: %w", sqltext.ErrPooled, err)
	}
	return fmt.Errorf("sqltier: %s: %w", op, err)
}
