package population

import (
	"context"
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/examples/digest/store"
)

// batch is how many users one transaction adds: enough that its end costs little, and
// few enough that others who want to write do not wait for long.
const batch = 100

// Fill adds the users of [Plan] to a store, in transactions of some at a time, in order:
// after an error those of earlier transactions are there. The slug of the n-th user,
// counted from 1, is [Slug] of n. The packs and sources must be in the store, all of them
// public, and the first pack its default.
func Fill(ctx context.Context, st *store.Store, cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	for from := 0; from < cfg.Users; from += batch {
		to := min(from+batch, cfg.Users)
		err := st.Write(ctx, func(tx *store.Tx) error {
			for i := from; i < to; i++ {
				if err := cfg.add(ctx, tx, i); err != nil {
					return fmt.Errorf("population: user %d: %w", i+1, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if cfg.Progress != nil {
			cfg.Progress(to)
		}
	}
	return nil
}

// Slug returns the slug of the n-th user, counted from 1.
func Slug(n int) string { return fmt.Sprintf("reader-%05d", n) }

// add adds the i-th user, who starts with the default pack and goes on from there as
// people would: those who want another pack install it and give up the first.
func (c Config) add(ctx context.Context, tx *store.Tx, i int) error {
	slug := Slug(i + 1)
	id, err := tx.AddUser(ctx, store.User{Name: fmt.Sprintf("Reader %d", i+1), Email: slug + "@example.org", Slug: slug})
	if err != nil {
		return err
	}
	start := set(c.Packs[0].SourceIDs)
	want, pack := c.choose(i)
	if pack != nil && pack.Slug == c.Packs[0].Slug {
		return nil
	}
	if pack != nil {
		_, err = tx.InstallPack(ctx, id, pack.Slug)
	} else if added := without(want, start); len(added) > 0 {
		err = tx.Subscribe(ctx, id, added...)
	}
	if err != nil {
		return err
	}
	return tx.Unsubscribe(ctx, id, without(start, want)...)
}

// without returns those of ids that are not among others.
func without(ids, others []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(others, id) })
}
