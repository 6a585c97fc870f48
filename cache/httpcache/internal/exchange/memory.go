package exchange

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// A key whose response is not for everybody is remembered for a while. Otherwise its clients
// would wait for one another, only to learn that each needs its own rendering. Varnish calls this
// hit-for-miss. A stored page still answers. If one client's request may be the reason, nothing
// is remembered. A key that is remembered wrongly, or forgotten too early, costs one rendering. So a
// table of fixed size is enough; a new key replaces an old one.
const (
	MemorySlots = 1024
	memoryTime  = 10 * time.Second
)

// Memory holds the keys whose clients do not share a load.
type Memory struct {
	Seed  maphash.Seed
	used  atomic.Bool
	slots [MemorySlots]atomic.Pointer[remembered]
}

type remembered struct {
	key   string
	until time.Time
}

func (m *Memory) slot(key string) *atomic.Pointer[remembered] {
	return &m.slots[maphash.String(m.Seed, key)%MemorySlots]
}

// Add remembers the key: its clients do not share a load.
func (m *Memory) Add(key string, now time.Time) {
	if m == nil {
		return
	}
	m.slot(key).Store(&remembered{key, now.Add(memoryTime)})
	m.used.Store(true)
}

// Has reports whether the clients of a key do not share a load.
func (m *Memory) Has(key string, now func() time.Time) bool {
	if !m.used.Load() {
		return false
	}
	r := m.slot(key).Load()
	return r != nil && r.key == key && now().Before(r.until)
}
