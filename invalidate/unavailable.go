package invalidate

import "github.com/twofold-go/twofold/internal/fault"

// Is makes every PendingError match cache.ErrUnavailable in errors.Is.
func (e *PendingError) Is(target error) bool { return target == fault.ErrUnavailable }
