package logtest

import (
	"slices"

	"github.com/twofold-go/twofold/invalidate"
)

// Part names a key of those a server keeps a log under; see [Memory.Delete].
type Part int

// The parts of a log.
const (
	Meta   Part = iota // which server owns the epoch, and where both sequences end
	Keys               // the sequence of keys
	Scopes             // the sequence of scopes
)

// Snapshot is what a server had at a moment: a dump on disk, or a replica that
// hears no more. See [Memory.Restore].
type Snapshot struct{ data dump }

// Snapshot returns what the log holds now.
func (m *Memory) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Snapshot{m.data.clone()}
}

// Restore puts a new server in the place of the old, with what s holds: a
// restart from an old dump, or a failover to a replica that lagged. Whatever was
// appended since is lost, and the next Sync starts an epoch. s may be used again.
func (m *Memory) Restore(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = s.data.clone()
	m.run++
}

// Restart puts a new server in the place of the old that has lost nothing. It
// cannot know, so the next Sync starts an epoch.
func (m *Memory) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run++
}

// Lose puts a new server in the place of the old, without the last n records of
// each sequence. The next Sync starts an epoch.
func (m *Memory) Lose(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.cut(n)
	m.run++
}

// Rewind takes the last n records of each sequence away behind the server's
// back, its meta data included: whoever did it left no trace that the server could
// see. The next Sync starts an epoch if its caller knows better, which it shows by
// its position or by its ids; otherwise positions are used again.
func (m *Memory) Rewind(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.cut(n)
}

// Trim keeps the newest n records of each sequence. A reader that had not seen
// the others finds a gap; where nothing is left, the next Sync starts an epoch.
func (m *Memory) Trim(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.keys.trim(n)
	m.data.scopes.trim(n)
}

// Delete removes the given parts of the log, or all, as an eviction or a careless
// hand does. The next Sync starts an epoch.
func (m *Memory) Delete(parts ...Part) {
	if len(parts) == 0 {
		parts = []Part{Meta, Keys, Scopes}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range parts {
		switch p {
		case Meta:
			m.data.epoch, m.data.id, m.data.bound = 0, 0, 0
			m.data.keys.end, m.data.scopes.end = 0, 0
		case Keys:
			m.data.keys.records = nil
		case Scopes:
			m.data.scopes.records = nil
		}
	}
}

// Len returns how many records of each sequence the log holds, bumps included.
func (m *Memory) Len() (keys, scopes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.data.keys.records), len(m.data.scopes.records)
}

// Bumps returns how many epochs were started, those that were lost included.
func (m *Memory) Bumps() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bumps
}

// Records returns copies of what the log holds.
func (m *Memory) Records() (keys, scopes []invalidate.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copied(m.data.keys.records), copied(m.data.scopes.records)
}

func (d *dump) cut(n int) {
	for _, s := range []*sequence{&d.keys, &d.scopes} {
		s.records = s.records[:max(0, len(s.records)-n)]
		s.end = s.last()
	}
}

// clone shares the records, which nobody changes, and not the slices.
func (d dump) clone() dump {
	d.keys.records = slices.Clone(d.keys.records)
	d.scopes.records = slices.Clone(d.scopes.records)
	return d
}
