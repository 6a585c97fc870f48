package pipeline

// seenKeys remembers the newest keys: at least limit of them, at most twice as
// many. Two maps take turns, so that nothing is kept per key to drop it by.
type seenKeys struct {
	limit      int
	newer, old map[string]uint64
}

func newSeenKeys(limit int) seenKeys {
	return seenKeys{limit: limit, newer: map[string]uint64{}}
}

func (s *seenKeys) get(key string) (epoch uint64, ok bool) {
	if epoch, ok = s.newer[key]; !ok {
		epoch, ok = s.old[key]
	}
	return epoch, ok
}

func (s *seenKeys) put(key string, epoch uint64) {
	if len(s.newer) >= s.limit {
		s.old, s.newer = s.newer, make(map[string]uint64, s.limit)
	}
	s.newer[key] = epoch
}
