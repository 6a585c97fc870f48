package store

import "context"

// Drift is a user whose kept hash is not that of the subscriptions.
type Drift struct {
	UserID int64  `json:"user_id"`
	Kept   string `json:"kept"` // empty: none was kept
	Want   string `json:"want"`
}

// Verify compares what is kept of every user's subscriptions with what they are, as
// of one moment, and returns the differences by user. With fix it repairs them, too,
// in the transaction that found them. There should be none: a materialised hash that
// is wrong shows its user somebody else's digest, so somebody has to look.
func (s *Store) Verify(ctx context.Context, fix bool) (found []Drift, err error) {
	if !fix {
		err = s.Read(ctx, func(r *Snapshot) error {
			found, err = r.drift(ctx)
			return err
		})
		return found, err
	}
	err = s.Write(ctx, func(tx *Tx) error {
		if found, err = tx.drift(ctx); err != nil {
			return err
		}
		for _, d := range found {
			tx.touch(d.UserID)
		}
		return nil
	})
	return found, err
}

func (q queries) drift(ctx context.Context) (found []Drift, err error) {
	all, err := q.compute(ctx, nil)
	if err != nil {
		return nil, err
	}
	type kept struct {
		hash    string
		user    int64
		sources int
	}
	rows, err := list(ctx, q.conn, func(r row) (k kept, err error) {
		err = r.Scan(&k.user, &k.hash, &k.sources)
		return k, err
	}, `SELECT user_id, subscription_hash, source_count FROM user_subscription_hashes`)
	if err != nil {
		return nil, err
	}
	byUser := make(map[int64]kept, len(rows))
	for _, k := range rows {
		byUser[k.user] = k
	}
	for _, want := range all {
		if k := byUser[want.UserID]; k.hash != want.Hash || k.sources != len(want.SourceIDs) {
			found = append(found, Drift{UserID: want.UserID, Kept: k.hash, Want: want.Hash})
		}
	}
	return found, nil
}
