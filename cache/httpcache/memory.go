package httpcache

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// A key whose response is not for everybody is remembered for a while. Otherwise its clients
// would wait for one another, only to learn that each needs its own rendering. Varnish calls this
// hit-for-miss. A stored page still answers: it is only not refreshed for that time. If the reason
// may lie in one client's request, nothing else is remembered. A key that is remembered wrongly, or forgotten too early, costs one rendering. So
// a table of fixed size is enough; a new key replaces an old one.
const (
	memorySlots = 1024
	memoryTime  = 10 * time.Second
)

type memory struct {
	seed  maphash.Seed
	used  atomic.Bool
	slots [memorySlots]atomic.Pointer[remembered]
}

type remembered struct {
	key   string
	until time.Time
	alone bool // else only the stored page is not refreshed
}

func (m *memory) slot(key string) *atomic.Pointer[remembered] {
	return &m.slots[maphash.String(m.seed, key)%memorySlots]
}

// add remembers the key. With alone set its clients do not share a load.
func (m *memory) add(key string, now time.Time, alone bool) {
	m.slot(key).Store(&remembered{key, now.Add(memoryTime), alone})
	m.used.Store(true)
}

// of returns what is remembered of a key, or nil.
func (m *memory) of(key string, now func() time.Time) *remembered {
	if !m.used.Load() {
		return nil
	}
	if r := m.slot(key).Load(); r != nil && r.key == key && now().Before(r.until) {
		return r
	}
	return nil
}

// alone reports whether the clients of a key do not share a load.
func (m *memory) alone(key string, now func() time.Time) bool {
	r := m.of(key, now)
	return r != nil && r.alone
}
