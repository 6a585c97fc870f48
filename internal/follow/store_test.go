package follow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
)

// storing is a log that pretends to store cells.
type storing struct {
	invalidate.Log
	steps int
}

func (l *storing) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	p, err := l.Log.Sync(ctx, at, a)
	if a.Store != nil {
		l.steps++
		p.Stored = invalidate.Filled
	}
	return p, err
}

// Store has a round of its own: an order that comes first could be about the same key, whose cell
// would then be removed and stored in one step.
func TestStoreIsAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		order bool
		steps int
		err   error
	}{
		"alone":          {false, 1, nil},
		"beside another": {true, 0, follow.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &storing{Log: logtest.NewMemory(logtest.MemoryConfig{Bound: 2 * time.Second})}
				w := follow.Follow(log, follow.Config{})
				defer func() { _ = w.Close(context.Background()) }()
				advance(10 * time.Millisecond)
				full, err := key.Space{Tenant: "t", Namespace: "n"}.Key("1")
				if err != nil {
					t.Fatal(err)
				}
				cell := func(fence.Mark) (*invalidate.Storing, error) {
					if tt.order {
						go func() { _ = w.Invalidate(context.Background(), request(t, invalidate.Key(full))) }()
						synctest.Wait()
					}
					return new(invalidate.Storing), nil
				}
				as, how, err := w.Store(context.Background(), w.Until(), invalidate.Key(full), cell)
				if !errors.Is(err, tt.err) || log.steps != tt.steps || err == nil && how != invalidate.Filled {
					t.Errorf("Store = %v, %d, %v after %d steps; want %v after %d", as, how, err, log.steps, tt.err, tt.steps)
				}
				if got := w.Fences().Capture(); err == nil && got.Key != as.Key {
					t.Errorf("the process is at %v, and the frame is as of %v", got.Key, as.Key)
				}
			})
		})
	}
}
