package store

import (
	"context"
	"time"
)

// Count is how often something happened.
type Count struct {
	Name, Label string
	Value       int64
}

// AddCounts adds to the counters of the present hour.
func (tx *Tx) AddCounts(ctx context.Context, counts ...Count) error {
	hour := tx.now().UTC().Truncate(time.Hour).UnixMilli()
	for _, c := range counts {
		_, err := tx.run(ctx, `INSERT INTO counters (hour, name, label, value) VALUES (?, ?, ?, ?)
			ON CONFLICT (hour, name, label) DO UPDATE SET value = value + excluded.value`, hour, c.Name, c.Label, c.Value)
		if err != nil {
			return err
		}
	}
	return nil
}

// Counts returns the sums of all counters over the hours that began at since or later,
// by name and label. The zero time asks for all there ever was.
func (q queries) Counts(ctx context.Context, since time.Time) ([]Count, error) {
	from := int64(0)
	if !since.IsZero() {
		from = since.UTC().Truncate(time.Hour).UnixMilli()
	}
	return list(ctx, q.conn, func(r row) (c Count, err error) {
		err = r.Scan(&c.Name, &c.Label, &c.Value)
		return c, err
	}, `SELECT name, label, sum(value) FROM counters WHERE hour >= ? GROUP BY name, label ORDER BY name, label`, from)
}
