package store

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// faultOfLocal returns why the field Local cannot be used as it is, or nil.
func faultOfLocal(l tier.Local) error {
	switch {
	case l == nil:
		return nil
	case unwrap.IsNil(l):
		return errNil(l)
	}
	return l.Validate()
}

func errNil(part any) error {
	return fmt.Errorf("a nil %T: check the error of what made it, or leave the field nil", part)
}

// faultOfPart returns why a field with a tier or a log cannot be used as it is, or nil.
func faultOfPart[I any](part I) error {
	if unwrap.IsNil(part) {
		return errNil(part)
	}
	if v, ok := unwrap.As[tier.Validator](part); ok {
		return v.Validate()
	}
	return nil
}

// faultOfCells returns why a log that removes cells itself would not find those of the remote
// tier, or nil. Then old values would be served after a commit.
func (cfg *Config) faultOfCells() (field string, err error) {
	if cfg.Remote == nil || cfg.Log == nil {
		return "", nil
	}
	if _, ok := unwrap.As[invalidate.CellUser](cfg.Log); ok {
		if nameOfTier(cfg.Remote) == "" {
			return "Remote", fmt.Errorf("a %T has no name, which the log needs to know whose cells it removes: "+
				"give it the method Name of tier.Named; a wrapper may have Unwrap() tier.Remote instead", cfg.Remote)
		}
		return "", nil
	}
	if unwrap.Hides[invalidate.CellUser](cfg.Log) {
		return "Log", fmt.Errorf("a %T hides the method UseCells of the log that it wraps, which could then not remove cells: "+
			"give it the method Unwrap() invalidate.Log", cfg.Log)
	}
	return "", nil
}

// nameOfTier returns the name that all processes use for a remote tier, or "". It must not depend
// on the Go type, because another wrapper would then make it another tier.
func nameOfTier(r tier.Remote) string {
	if n, ok := unwrap.As[tier.Named](r); ok {
		return n.Name()
	}
	return ""
}
