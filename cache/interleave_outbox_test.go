package cache_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/script"
	"github.com/twofold-go/twofold/invalidate"
)

// outbox is a table in the source's own database. Its rows were committed together with the
// data, and have no number in the log yet.
type outbox struct {
	mu   sync.Mutex // protects the rest
	rows map[int][]invalidate.Scope
	next int
}

// commit ends a transaction that wrote the source. No process of the cache hears of it.
func (w *logStage) commit(c *script.Call) error {
	scopes, err := w.names.scopes(c.Args())
	if err != nil {
		return err
	}
	w.outbox.mu.Lock()
	defer w.outbox.mu.Unlock()
	w.outbox.rows[w.outbox.next] = scopes
	w.outbox.next++
	return nil
}

func (o *outbox) stage() map[int][]invalidate.Scope {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.rows)
}

// take removes a row from the table. It reports whether the row existed.
func (o *outbox) take(id int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.rows[id]
	delete(o.rows, id)
	return ok
}

// UseCells keeps the function that removes the cells of the outbox's rows.
func (w logWire) UseCells(_ string, remove func(context.Context, []string, time.Duration) error) {
	w.p.remove = remove
}

// catchUp numbers the current rows: it stages them, removes the cells that they name, and turns
// them into records.
func (l logGate) catchUp(ctx context.Context) error {
	rows := l.outbox.stage()
	var cells []string
	var all invalidate.Append
	for _, scopes := range rows {
		for _, s := range scopes {
			if s.Kind() == invalidate.KindKey {
				cells, all.Keys = append(cells, s.Text()), append(all.Keys, s.Fence())
			} else {
				all.Scopes = append(all.Scopes, s.Fence())
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	name, what := l.g.p.name, l.names.list(slices.Concat(all.Keys, all.Scopes))
	l.g.p.env.Printf("%s finds rows without a number: %s", name, what)
	if len(cells) > 0 {
		if err := l.g.p.remove(ctx, cells, 0); err != nil {
			return err
		}
	}
	_, err := pass(ctx, l.g, "number", false, func(ctx context.Context) (struct{}, error) {
		taken := false
		for id := range rows {
			taken = l.outbox.take(id) || taken
		}
		if !taken {
			l.g.p.env.Printf("%s finds no row left to number", name)
			return struct{}{}, nil
		}
		l.g.p.env.Printf("%s numbers %s", name, what)
		_, err := l.log.Sync(ctx, invalidate.Cursor{}, all)
		return struct{}{}, err
	})
	return err
}
