package store

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// faultOfPart returns why a tier or a log cannot be used as it is, or nil.
func faultOfPart(part interface{ Validate() error }) error {
	switch {
	case part == nil:
		return nil
	case unwrap.IsNil(part):
		return fmt.Errorf("a nil %T: check the error of what made it, or leave the field nil", part)
	}
	return part.Validate()
}

// faultOfLog returns why a log cannot be used as it is, or nil.
func faultOfLog(log invalidate.Log) error {
	if unwrap.IsNil(log) {
		return fmt.Errorf("a nil %T: check the error of what made it, or leave the field nil", log)
	}
	if v, ok := unwrap.As[interface{ Validate() error }](log); ok {
		return v.Validate()
	}
	return nil
}

// faultOfName returns why the remote tier cannot be used by a log that removes cells itself, or nil.
func faultOfName(r tier.Remote) error {
	if r == nil || r.Describe(r).Name != "" {
		return nil
	}
	return fmt.Errorf("Describe of a %T returns no Name: return what all processes that share the tier have in common, such as the kind of server and a prefix", r)
}

// faultOfCells returns why a log that removes cells itself cannot be used, or nil. Then old values would be
// served after a commit.
func (cfg *Config) faultOfCells() (field string, err error) {
	if cfg.Remote == nil || cfg.Log == nil {
		return "", nil
	}
	if _, ok := unwrap.As[invalidate.CellUser](cfg.Log); !ok && unwrap.Hides[invalidate.CellUser](cfg.Log) {
		return "Log", fmt.Errorf("a %T hides the method UseCells of the log that it wraps, which could then not remove cells: "+
			"give it the method Unwrap() invalidate.Log", cfg.Log)
	}
	return "", nil
}
