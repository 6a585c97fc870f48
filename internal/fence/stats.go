package fence

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Stats returns the current numbers.
func (f *Fences) Stats() invalidate.FenceStats {
	s := invalidate.FenceStats{Keys: f.recent.len(), Forgotten: f.given.Load()}
	f.mu.RLock()
	s.Prefixes, s.Tags = int64(f.scopes.prefixes.len()), int64(f.scopes.tags.len())
	s.Expired = int64(f.soft.keys.len() + f.soft.tags.len() + f.soft.prefixes.len())
	f.mu.RUnlock()
	s.Waits, s.Waited = f.crowd.waits.Load(), time.Duration(f.crowd.waited.Load())
	return s
}
