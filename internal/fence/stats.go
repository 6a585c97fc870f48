package fence

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Stats returns the current numbers.
func (f *Fences) Stats() invalidate.FenceStats {
	s := invalidate.FenceStats{Forgotten: f.given.Load(), Reach: time.Duration(f.Now())}
	for i := range f.shards {
		at := &f.shards[i]
		at.mu.Lock()
		s.Keys += int64(at.hard[ofKey].len())
		s.Tags += int64(at.hard[ofTag].len())
		s.Prefixes += int64(at.hard[ofStem].len() + at.hard[ofStub].len())
		s.Expired += int64(at.soft.len())
		s.Nodes += int64(at.nodes.used)
		for k := range at.hard {
			s.Reach = min(s.Reach, time.Duration(f.Now()-at.hard[k].forgot.at))
		}
		at.mu.Unlock()
	}
	return s
}
