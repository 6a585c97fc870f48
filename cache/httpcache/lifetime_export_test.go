package httpcache

import "errors"

// Faults returns the faults of f.
func (f Fallback) Faults() error { return errors.Join(f.faults()...) }
