package sqllog

import (
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/sqlschema"
)

// explain adds what a database error means for a log. It recognizes errors by their codes and
// texts, because the package imports no driver.
func explain(err error) error {
	if errors.Is(err, ErrSchema) || errors.Is(err, ErrStandby) || errors.Is(err, ErrRights) {
		return err
	}
	for meaning, found := range map[error]bool{
		ErrSchema:  sqlschema.Says(err, sqlschema.NoTable, sqlschema.NoColumn),
		ErrStandby: sqlschema.Says(err, sqlschema.Standby),
		ErrRights:  sqlschema.Says(err, sqlschema.NoRight),
	} {
		if found {
			return fmt.Errorf("%w: %w", meaning, err)
		}
	}
	return err
}
