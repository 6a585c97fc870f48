// Package memlog is a log of invalidations in this process, which loses on command what a server may
// lose. Package invalidate/logtest has the part of it that is for users.
package memlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// The defaults of a [Config].
const (
	DefaultBound  = 2 * time.Second
	DefaultRetain = 100_000
	DefaultLimit  = 1000
)

// The errors of [Log.Sync] that are the caller's fault, not the server's.
var (
	// ErrAppend refuses an append of more than [invalidate.MaxFences] fences or [invalidate.MaxText]
	// bytes to one sequence, of a kind that belongs to the other sequence, or of an invalid scope.
	ErrAppend = errors.New("memlog: bad append")

	// ErrEpochs refuses a cursor in the last epoch that a position can hold: no later epoch
	// exists.
	ErrEpochs = errors.New("memlog: no epoch is left")
)

// Config configures a [Log]. The zero Config is useful.
type Config struct {
	Bound  time.Duration // 0: DefaultBound
	Retain int           // records kept of each sequence; 0: DefaultRetain
	Limit  int           // records of each sequence in a page; 0: DefaultLimit
}

// Log is a log in this process: two slices behind a mutex. It keeps every rule of
// [invalidate.Log], and the stricter rules of a log on Redis. The number of an epoch is one above
// every number that the log or the caller knows.
//
// Share one Log between several sets of tiers to simulate several processes. The methods that
// simulate failures of a server are [Log.Restart], [Log.Restore], [Log.Lose],
// [Log.Rewind], [Log.Trim] and [Log.Delete].
//
// The zero Log is an empty log with the zero Config. All methods may be called
// concurrently. It has no goroutine. Use a Log of a testing/synctest bubble in that bubble
// only.
type Log struct {
	Config Config // set it before the first call

	mu    sync.Mutex // protects all below
	run   int        // number of the server; a dump has the number of its server
	data  dump
	bumps int           // epochs started
	now   int64         // unix microseconds, last read; the log's clock never turns back
	wake  chan struct{} // closed by the next append; nil when no Tail waits
}

// dump is what a server writes to disk and sends to its replicas.
type dump struct {
	run          int
	epoch        uint32 // 0: no meta data
	id           uint64 // of the epoch
	bound        time.Duration
	keys, scopes sequence
}

var _ invalidate.Log = (*Log)(nil)

// New returns an empty log.
func New(config Config) *Log { return &Log{Config: config} }

// Bound returns the Bound of the Config, or the default.
func (m *Log) Bound() time.Duration { return cmp.Or(m.Config.Bound, DefaultBound) }

// Sync appends a and returns the records after at. It fails when ctx has ended, with [ErrAppend]
// or with [ErrEpochs]. A Sync that fails has appended nothing.
func (m *Log) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	return m.Handle(m.Bound()).Sync(ctx, at, a)
}

// Tail waits for records after at, and returns an empty page after a quarter of Bound. It fails
// only when ctx has ended.
func (m *Log) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	return m.Handle(m.Bound()).Tail(ctx, at)
}

// Validate returns nil.
func (*Log) Validate() error { return nil }

// Open does nothing: the log has no use for hooks.
func (*Log) Open(invalidate.Hooks) {}

// Server returns nothing: the log is in no place that has cells.
func (*Log) Server() string { return "" }

// Close does nothing.
func (*Log) Close() error { return nil }

// Handle returns the same log for a process with another Bound, which must be positive. Pages
// carry the largest Bound that has synced.
func (m *Log) Handle(bound time.Duration) invalidate.Log { return handle{m, m, bound} }

type handle struct {
	invalidate.Log
	m     *Log
	bound time.Duration
}

func (h handle) Bound() time.Duration { return h.bound }

func (h handle) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if err := ctx.Err(); err != nil {
		return invalidate.Page{}, fmt.Errorf("memlog: sync: %w", err)
	}
	if err := check(a); err != nil {
		return invalidate.Page{}, err
	}
	m := h.m
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.nowLocked()
	if m.doubtfulLocked(at) {
		if err := m.bumpLocked(at, now); err != nil {
			return invalidate.Page{}, err
		}
	}
	m.data.bound = max(m.data.bound, h.bound)
	keyed := m.appendLocked(&m.data.keys, a.Keys, now)
	scoped := m.appendLocked(&m.data.scopes, a.Scopes, now)
	page := m.pageLocked(at)
	page.Key, page.Scope = keyed, scoped
	return page, nil
}

// doubtfulLocked reports whether the log may have lost records: another server has it, it does
// not end where its meta data says, or a caller knows more records, or other ones.
func (m *Log) doubtfulLocked(at invalidate.Cursor) bool {
	d := &m.data
	return d.epoch == 0 || d.run != m.run ||
		d.keys.damaged() || d.scopes.damaged() ||
		at.Key > d.keys.last().At || at.Scope > d.scopes.last().At ||
		d.keys.foreign(at.Key, at.KeyID) || d.scopes.foreign(at.Scope, at.ScopeID) ||
		(at.Epoch != 0 && at.Epoch != d.id && max(at.Key.Epoch(), at.Scope.Epoch()) == d.epoch)
}

// bumpLocked starts an epoch above every position that the log or the caller knows.
func (m *Log) bumpLocked(at invalidate.Cursor, now int64) error {
	d := &m.data
	known := max(d.epoch, max(at.Key, at.Scope, d.keys.last().At, d.scopes.last().At).Epoch())
	if known == math.MaxUint32 {
		return fmt.Errorf("%w after cursor %x, %x", ErrEpochs, uint64(at.Key), uint64(at.Scope))
	}
	m.bumps++
	d.epoch, d.id, d.run = known+1, logwire.NewID(), m.run
	for _, s := range []*sequence{&d.keys, &d.scopes} {
		m.addLocked(s, invalidate.Record{At: invalidate.At(d.epoch, 0), ID: d.id, Bump: true, Prev: s.last().At, Time: now})
	}
	return nil
}

func (m *Log) appendLocked(s *sequence, fences []invalidate.Fence, now int64) invalidate.Position {
	if len(fences) == 0 {
		return 0
	}
	m.addLocked(s, invalidate.Record{At: s.end + 1, ID: logwire.NewID(), Time: now, Fences: slices.Clone(fences)})
	return s.end
}

func (m *Log) addLocked(s *sequence, r invalidate.Record) {
	r.After = s.last().ID
	s.records = append(s.records, r)
	s.end = r.At
	s.trim(cmp.Or(m.Config.Retain, DefaultRetain))
	if m.wake != nil {
		close(m.wake)
		m.wake = nil
	}
}

// nowLocked returns the log's clock in unix microseconds.
func (m *Log) nowLocked() int64 {
	m.now = max(m.now, time.Now().UnixMicro())
	return m.now
}
