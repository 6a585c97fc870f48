package memlog

import (
	"slices"

	"github.com/twofold-go/twofold/invalidate"
)

// Part is one of the keys that hold a log on a server; see [Log.Delete].
type Part int

// The parts of a log.
const (
	Meta   Part = iota // which server owns the epoch, and where both sequences end
	Keys               // the sequence of keys
	Scopes             // the sequence of scopes
)

// Snapshot is the state of a server at one moment: a dump on disk, or a replica that no longer gets
// updates. See [Log.Restore].
type Snapshot struct{ data dump }

// Snapshot returns the current state of the log.
func (m *Log) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Snapshot{m.data.clone()}
}

// Restore replaces the server by a new one that holds s: a restart from an old dump, or a
// failover to a replica that lagged. Records that were appended after s are lost, and the next
// Sync starts an epoch. s may be used again.
func (m *Log) Restore(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data = s.data.clone()
	m.run++
}

// Restart replaces the server by a new one that has lost nothing. The new server cannot know
// that, so the next Sync starts an epoch.
func (m *Log) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run++
}

// Lose replaces the server by a new one, without the last n records of each sequence. The next Sync
// starts an epoch.
func (m *Log) Lose(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.cut(n)
	m.run++
}

// Rewind removes the last n records of each sequence, and changes the meta data to match, so the
// server sees no trace of it. The next Sync starts an epoch if its caller knows of lost records,
// by its position or by its ids. Otherwise the log uses the positions again.
func (m *Log) Rewind(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.cut(n)
}

// Trim keeps the newest n records of each sequence. A reader that had not read the others finds a
// gap. When nothing is left, the next Sync starts an epoch.
func (m *Log) Trim(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.data.keys.trim(n)
	m.data.scopes.trim(n)
}

// Delete removes the given parts of the log, or all, as an eviction or an operator may do. The
// next Sync starts an epoch.
func (m *Log) Delete(parts ...Part) {
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

// Len returns how many records of each sequence the log holds, including bumps.
func (m *Log) Len() (keys, scopes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.data.keys.records), len(m.data.scopes.records)
}

// Bumps returns how many epochs were started, including lost ones.
func (m *Log) Bumps() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bumps
}

// Records returns copies of the records that the log holds.
func (m *Log) Records() (keys, scopes []invalidate.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copied(m.data.keys.records), copied(m.data.scopes.records)
}

func (d *dump) cut(n int) {
	for _, s := range []*sequence{&d.keys, &d.scopes} {
		s.records = s.records[:max(0, len(s.records)-n)]
		s.end = s.last().At
	}
}

// clone copies the slices and shares the records, which never change.
func (d dump) clone() dump {
	d.keys.records = slices.Clone(d.keys.records)
	d.scopes.records = slices.Clone(d.scopes.records)
	return d
}
