package store

import (
	"fmt"
	"io"
	"strings"

	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// faultOfPart returns why a field with a tier or a log cannot be used as it is, or nil.
func faultOfPart[I any](part I) error {
	if unwrap.IsNil(part) {
		return fmt.Errorf("a nil %T: check the error of what made it, or leave the field nil", part)
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

// warnOfHidden logs, once, the methods that wrappers hide. The cache works without them, but
// slower or with less to show.
func (t *Core) warnOfHidden() {
	var hidden []string
	note := func(hides bool, name string) {
		if hides {
			hidden = append(hidden, name)
		}
	}
	if r := t.Config.Remote; r != nil {
		note(unwrap.Hides[tier.Batcher](r), "tier.Batcher of Remote: each key of a batch costs a round trip")
		if _, removes := t.Config.Log.(invalidate.CellRemover); removes {
			note(isHidden[tier.Namer](r), "tier.Namer of Remote: the log cannot remove cells, so an invalidation costs a round trip more")
		}
		note(isHidden[tier.Validator](r), "tier.Validator of Remote: its configuration is not checked")
	}
	if l := t.Config.Log; l != nil {
		note(t.Config.Remote != nil && unwrap.Hides[invalidate.CellRemover](l), "invalidate.CellRemover of Log: an invalidation costs a round trip more")
		note(isHidden[tier.Validator](l), "tier.Validator of Log: its configuration is not checked")
		note(isHidden[io.Closer](l), "io.Closer of Log: Close leaves it open")
	}
	if l := t.Config.Local; l != nil {
		note(isHidden[tier.EvictNotifier](l), "tier.EvictNotifier of Local: evictions are not counted")
		note(isHidden[tier.Expirer](l), "tier.Expirer of Local: entries stay after their end, in place of others")
		note(isHidden[tier.Meter](l), "tier.Meter of Local: its size is not known")
		note(isHidden[tier.Ranger](l), "tier.Ranger of Local: entries are lost when many invalidations are forgotten")
		note(isHidden[tier.Validator](l), "tier.Validator of Local: its configuration is not checked")
	}
	if len(hidden) > 0 {
		t.Log.Warn("cache: a wrapper hides methods of what it wraps: give it a method Unwrap that returns what it wraps, and Batcher and CellRemover as methods of its own",
			"hidden", strings.Join(hidden, "; "))
	}
}

// isHidden reports whether a wrapper hides a T, also from Unwrap.
func isHidden[T, I any](x I) bool {
	_, found := unwrap.As[T](x)
	return !found && unwrap.Hides[T](x)
}
