package tiertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// ErrNonce refuses a claim or fill that carries the zero nonce, which means
// none and could not be told from a free cell.
var ErrNonce = errors.New("tiertest: zero nonce")

// Places in the frame that the remote tier reads or rewrites; see package tier.
const (
	refreshAt  = 25
	headerSize = refreshAt + 8
)

// Memory is a remote tier in this process: a map behind a mutex that keeps
// every rule of [tier.Remote]. Lifetimes run on time.Now and are judged when a
// cell is read, so it has no goroutine and works inside a testing/synctest
// bubble. Share one Memory between several caches to play several processes.
//
// The zero Memory is empty and ready for use. All methods may be called
// concurrently. It is bounded by nothing but the lifetimes of its cells.
type Memory struct {
	mu    sync.Mutex
	cells map[string]memCell
}

type memCell struct {
	frame   []byte
	expires time.Time
}

var (
	_ tier.Remote  = (*Memory)(nil)
	_ tier.Batcher = (*Memory)(nil)
	_ tier.Pinger  = (*Memory)(nil)
)

// NewMemory returns an empty tier.
func NewMemory() *Memory { return new(Memory) }

// Ping returns the error of ctx: memory is always there.
func (m *Memory) Ping(ctx context.Context) error { return wrap("ping", ctx.Err()) }

// Len returns the number of cells that have not expired.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweepLocked(len(m.cells))
	return len(m.cells)
}

// Get returns a copy of the frame under key, nil when there is none.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap("get", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.frameLocked(key)), nil
}

// Claim asks for the right to load key. It fails only when ctx is done or the
// nonce is zero ([ErrNonce]).
func (m *Memory) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	if err := ctx.Err(); err != nil {
		return tier.Claimed{}, wrap("claim", err)
	}
	if c.Nonce.IsZero() {
		return tier.Claimed{}, wrap("claim", ErrNonce)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	frame := m.frameLocked(key)
	kind, nonce := head(frame)
	switch {
	case kind == tier.Hold:
		return tier.Claimed{}, nil
	case nonce == c.Nonce: // repeated
		m.renewLocked(key, frame, c)
		return tier.Claimed{Granted: true}, nil
	case c.Seen == c.Nonce: // a renewal of what is gone
		return tier.Claimed{}, nil
	case c.Refresh:
		return tier.Claimed{Granted: refresh(frame, c)}, nil
	case nonce.IsZero() || nonce == c.Seen:
		m.putLocked(key, tier.LeaseCell(c.Nonce), c.Lease)
		return tier.Claimed{Granted: true}, nil
	}
	return tier.Claimed{Cell: bytes.Clone(frame)}, nil
}

// renewLocked starts the lease of a claim anew.
func (m *Memory) renewLocked(key string, frame []byte, c tier.Claim) {
	switch kind, _ := head(frame); {
	case kind == tier.Lease:
		m.putLocked(key, frame, c.Lease)
	case kind == tier.Value && c.Refresh && len(frame) >= headerSize:
		binary.BigEndian.PutUint64(frame[refreshAt:], uint64(time.Now().UnixMilli()+millis(c.Lease).Milliseconds()))
	}
}

// refresh writes a refresh claim into frame when it may be claimed.
func refresh(frame []byte, c tier.Claim) bool {
	kind, nonce := head(frame)
	if kind != tier.Value || nonce != c.Seen || nonce.IsZero() || len(frame) < headerSize {
		return false
	}
	now := time.Now().UnixMilli()
	if int64(binary.BigEndian.Uint64(frame[refreshAt:])) >= now {
		return false
	}
	copy(frame[1:], c.Nonce[:])
	binary.BigEndian.PutUint64(frame[refreshAt:], uint64(now+millis(c.Lease).Milliseconds()))
	return true
}

// Fill stores or releases by compare-and-set on the nonce. It fails only when
// ctx is done or the nonce is zero ([ErrNonce]).
func (m *Memory) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, wrap("fill", err)
	}
	if f.Nonce.IsZero() {
		return false, wrap("fill", ErrNonce)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	frame := m.frameLocked(key)
	kind, nonce := head(frame)
	switch {
	case nonce != f.Nonce:
		return false, nil
	case len(f.Cell) > 0:
		m.putLocked(key, bytes.Clone(f.Cell), f.TTL)
		return true, nil
	case kind == tier.Lease:
		delete(m.cells, key)
		return true, nil
	case kind == tier.Value && len(frame) >= headerSize:
		clear(frame[refreshAt:headerSize])
		return true, nil
	}
	return false, nil
}

// Unlink removes the cells of keys. It fails only when ctx is done.
func (m *Memory) Unlink(ctx context.Context, keys ...string) error {
	if err := ctx.Err(); err != nil {
		return wrap("unlink", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.cells, key)
	}
	return nil
}

// frameLocked returns the frame itself, not a copy.
func (m *Memory) frameLocked(key string) []byte {
	c, ok := m.cells[key]
	if !ok {
		return nil
	}
	if !time.Now().Before(c.expires) {
		delete(m.cells, key)
		return nil
	}
	return c.frame
}

func (m *Memory) putLocked(key string, frame []byte, ttl time.Duration) {
	if m.cells == nil {
		m.cells = map[string]memCell{}
	}
	m.sweepLocked(4) // more than it puts, so what nobody reads again goes too
	m.cells[key] = memCell{frame: frame, expires: time.Now().Add(millis(ttl))}
}

// sweepLocked looks at up to n cells, in the map's random order.
func (m *Memory) sweepLocked(n int) {
	now := time.Now()
	for key, c := range m.cells {
		if n--; n < 0 {
			return
		}
		if !now.Before(c.expires) {
			delete(m.cells, key)
		}
	}
}

// head reads kind and nonce. A frame too short for a nonce counts as none:
// whatever it is, it may be overwritten.
func head(frame []byte) (tier.Kind, tier.Nonce) {
	if len(frame) < 1+tier.NonceSize {
		return 0, tier.Nonce{}
	}
	return tier.Kind(frame[0]), tier.Nonce(frame[1:])
}

// millis rounds up to whole milliseconds, at least one.
func millis(d time.Duration) time.Duration {
	up := d.Truncate(time.Millisecond)
	if up < d {
		up += time.Millisecond
	}
	return max(up, time.Millisecond)
}

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tiertest: %s: %w", op, err)
}
