package httpcache

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// A key whose response turned out not to be for everybody is remembered for a
// while, so that its clients do not wait for each other only to learn that each
// has to ask for himself. Varnish calls it hit-for-miss. What is remembered
// wrongly, or forgotten too soon, costs a rendering and nothing else; so a table
// of fixed size will do, in which a new key takes the place of an old one.
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
}

func (m *memory) slot(key string) *atomic.Pointer[remembered] {
	return &m.slots[maphash.String(m.seed, key)%memorySlots]
}

func (m *memory) add(key string, now time.Time) {
	m.slot(key).Store(&remembered{key, now.Add(memoryTime)})
	m.used.Store(true)
}

func (m *memory) has(key string, now func() time.Time) bool {
	if !m.used.Load() {
		return false
	}
	r := m.slot(key).Load()
	return r != nil && r.key == key && now().Before(r.until)
}
