package cachez

import (
	"sync"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
)

// A rate needs the numbers of two moments. The page has no goroutine that takes them, so it keeps those
// of earlier views.
const (
	minute  = time.Minute     // the span of a rate, if there is a view that is old enough
	tooLong = 2 * minute      // a longer span says little about now
	instant = 5 * time.Second // a shorter span says little at all
)

// snapshot is the numbers of one moment.
type snapshot struct {
	at    time.Time
	made  bool // when the page was made, and not by a view
	stats cache.Stats
	pages httpcache.Stats
}

func (h *handler) snapshot() *snapshot {
	s := &snapshot{at: time.Now(), stats: h.tiers.Stats()}
	if h.Pages != nil {
		s.pages = h.Pages.Stats()
	}
	return s
}

// views holds the numbers of two earlier moments, with a minute or more between them.
type views struct {
	mu           sync.Mutex
	older, newer *snapshot
}

// view takes the numbers of now. It also returns the earlier ones that rates count from: between one and
// two minutes old if the page was viewed then, otherwise the last ones.
func (h *handler) view() (now, before *snapshot) {
	v := &h.views
	v.mu.Lock()
	defer v.mu.Unlock()
	now = h.snapshot()
	if now.at.Sub(v.newer.at) < minute {
		if now.at.Sub(v.older.at) > tooLong && now.at.Sub(v.newer.at) >= instant {
			return now, v.newer
		}
		return now, v.older
	}
	v.older, v.newer = v.newer, now
	return now, v.older
}
