package worker

import (
	"context"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
)

type manyLoader = func(context.Context, []string) (map[string]Value, error)

// asked marks the values of an audit's load.
func asked(load manyLoader) manyLoader {
	return func(ctx context.Context, ks []string) (map[string]Value, error) {
		if !cache.Auditing(ctx) {
			return load(ctx, ks)
		}
		at := proc.Now()
		m, err := load(ctx, ks)
		for k, v := range m {
			v.Asked = at
			m[k] = v
		}
		return m, err
	}
}

// comparing returns Config.Equal. An audit compares its two loads last, and calls the hit stale if
// they are equal. The alarm is recorded here, and not by OnStale, because OnStale has no value.
func (w *worker) comparing(level int) func(a, b Value) bool {
	return func(a, b Value) bool {
		same := a.Key == b.Key && a.Version == b.Version
		if i, ok := number(a.Key); ok && same && a.Asked > 0 && b.Asked > 0 {
			w.events.Add(history.Event{
				Type: history.Alarm, Level: uint8(level), Key: uint16(i), Version: a.Version, Start: a.Asked, End: proc.Now(),
			})
		}
		return same
	}
}
