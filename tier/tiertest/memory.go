package tiertest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// Memory is a remote tier in this process: a map behind a mutex. It keeps every rule of
// [tier.Remote]. It checks lifetimes against time.Now when a cell is read, so it has no goroutine
// and works inside a testing/synctest bubble. Share one Memory between several caches to simulate
// several processes.
//
// The zero Memory is empty and ready for use. All methods may be called concurrently. Only the
// lifetimes of its cells bound its size.
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
	_ tier.Named   = (*Memory)(nil)
)

// NewMemory returns an empty tier.
func NewMemory() *Memory { return new(Memory) }

// Ping returns the error of ctx.
func (m *Memory) Ping(ctx context.Context) error { return wrap("ping", ctx.Err()) }

// Name returns "memory".
func (*Memory) Name() string { return "memory" }

// Len returns the number of cells that have not expired.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweepLocked(len(m.cells))
	return len(m.cells)
}

// Get returns a copy of the frame under key, nil for none.
func (m *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap("get", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.frameLocked(key)), nil
}

// Claim requests the right to load key. It fails only when ctx has ended or the nonce is zero
// ([tier.ErrNonce]).
func (m *Memory) Claim(ctx context.Context, key string, c tier.Claim) (tier.Claimed, error) {
	if err := ctx.Err(); err != nil {
		return tier.Claimed{}, wrap("claim", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ch, got, err := c.Over(m.frameLocked(key), time.Now())
	m.makeLocked(key, ch)
	return got, wrap("claim", err)
}

// Fill stores or releases by compare-and-set on the nonce. It fails only when ctx has ended or
// the nonce is zero ([tier.ErrNonce]).
func (m *Memory) Fill(ctx context.Context, key string, f tier.Fill) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, wrap("fill", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ch, ok, err := f.Over(m.frameLocked(key))
	m.makeLocked(key, ch)
	return ok, wrap("fill", err)
}

// makeLocked makes a change under key.
func (m *Memory) makeLocked(key string, ch tier.Change) {
	switch ch.Act {
	case tier.ActPut:
		if m.cells == nil {
			m.cells = map[string]memCell{}
		}
		m.sweepLocked(4) // more than one, so cells that are never read again are removed, too
		m.cells[key] = memCell{ch.Frame, time.Now().Add(ch.TTL)}
	case tier.ActPatch:
		m.cells[key] = memCell{ch.Frame, m.cells[key].expires}
	case tier.ActDrop:
		delete(m.cells, key)
	case tier.ActKeep:
	}
}

// Unlink removes the cells of keys. It fails only when ctx has ended.
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

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tiertest: %s: %w", op, err)
}
