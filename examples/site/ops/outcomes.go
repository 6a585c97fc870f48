package ops

import (
	"crypto/rand"
	"sync"
	"time"
)

const (
	maxOutcomes = 32               // that are remembered
	outcomeTime = 10 * time.Minute // for so long
)

// outcomes remembers what purges came to until the page that follows shows it. The
// page is asked for by a name that nobody can guess, so no link can make it say what
// was not done.
type outcomes struct {
	mu   sync.Mutex // protects the rest
	kept []remembered
}

type remembered struct {
	name string
	o    *outcome
}

// add remembers an outcome, and returns its name.
func (s *outcomes) add(o *outcome) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == maxOutcomes {
		s.kept = append(s.kept[:0], s.kept[1:]...)
	}
	name := rand.Text()
	s.kept = append(s.kept, remembered{name, o})
	return name
}

// get returns an outcome, or nil.
func (s *outcomes) get(name string, now time.Time) *outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kept {
		if k.name == name && now.Sub(k.o.At) < outcomeTime {
			return k.o
		}
	}
	return nil
}
