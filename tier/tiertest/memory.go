package tiertest

import (
	"bytes"
	"context"
	"errors"
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

var _ tier.Remote = (*Memory)(nil)

// NewMemory returns an empty tier.
func NewMemory() *Memory { return new(Memory) }

// Validate returns nil.
func (*Memory) Validate() error { return nil }

// Describe returns the name "memory".
func (*Memory) Describe(tier.Remote) tier.Description { return tier.Description{Name: "memory"} }

// Len returns the number of cells that have not expired.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweepLocked(len(m.cells))
	return len(m.cells)
}

// Get returns copies of the frames. It fails only when ctx has ended.
func (m *Memory) Get(ctx context.Context, keys []string, frames [][]byte) error {
	return m.each(ctx, "get", keys, func(i int, frame []byte) (tier.Change, error) {
		frames[i] = bytes.Clone(frame)
		return tier.Change{}, nil
	})
}

// Claim requests the right to load keys. It fails when ctx has ended, and for keys whose claim has the zero nonce
// ([tier.ErrNonce]).
func (m *Memory) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	return m.each(ctx, "claim", keys, func(i int, frame []byte) (ch tier.Change, err error) {
		ch, answers[i], err = claims[i].Over(frame, time.Now())
		return ch, err
	})
}

// Fill stores or releases by compare-and-set on the nonce. It fails when ctx has ended, and for keys whose fill has
// the zero nonce ([tier.ErrNonce]).
func (m *Memory) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	return m.each(ctx, "fill", keys, func(i int, frame []byte) (ch tier.Change, err error) {
		ch, stored[i], err = fills[i].Over(frame)
		return ch, err
	})
}

// Remove removes the cells of keys. It fails only when ctx has ended.
func (m *Memory) Remove(ctx context.Context, keys []string) error {
	return m.each(ctx, "remove", keys, func(int, []byte) (tier.Change, error) {
		return tier.Change{Act: tier.ActDrop}, nil
	})
}

// each makes the change for each key, after failures too. The frame is not a copy.
func (m *Memory) each(ctx context.Context, op string, keys []string, change func(i int, frame []byte) (tier.Change, error)) error {
	if err := ctx.Err(); err != nil {
		return wrap(op, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for i, key := range keys {
		ch, err := change(i, m.frameLocked(key))
		if m.makeLocked(key, ch); err != nil {
			errs = append(errs, err)
		}
	}
	return wrap(op, errors.Join(errs...))
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
