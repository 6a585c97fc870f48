package digest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/invalidate"
)

// ErrSelection is wrapped by errors about a selection that does not say clearly what is
// to go.
var ErrSelection = errors.New("digest: bad selection")

// Forget removes digests from the cache, everywhere: those of a combination, with or
// without its options; those of periods that ended at some time or before; or all. It is
// one of the three, and never all by mistake. What users have in digests stays; who asks
// again has it made again. The actor is for the log. It returns how many there were.
//
// When it has returned nil, no process serves any of them a bound later, whatever becomes
// of this one. One that is being made meanwhile is made again.
func (s *Service) Forget(ctx context.Context, sel store.CacheSelection, actor string) (deleted int64, err error) {
	if err := checkSelection(sel); err != nil {
		return 0, err
	}
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		gone, err := tx.DeleteCache(ctx, sel)
		if err != nil {
			return err
		}
		deleted = int64(len(gone))
		tx.Announce()
		return s.news.Append(ctx, tx, s.scopes(sel, gone)...)
	})
	if err != nil {
		return 0, err
	}
	s.log.Info("digest: cache deleted", "actor", actor, "deleted", deleted,
		"hash", short(sel.Hash), "before", sel.Before, "all", sel.All)
	return deleted, nil
}

func checkSelection(sel store.CacheSelection) error {
	n := 0
	for _, set := range []bool{sel.Hash != "", !sel.Before.IsZero(), sel.All} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%w: %d of hash, before and all, want one", ErrSelection, n)
	}
	if raw, err := hex.DecodeString(sel.Hash); sel.Hash != "" && (err != nil || len(raw) != 32) {
		return fmt.Errorf("%w: hash of %d characters, want 64 of hex", ErrSelection, len(sel.Hash))
	}
	return nil
}

// scopes are what the rows that are gone were cached as, and what was made of them. The
// tag of a hash, and the prefix of all, reach also what is only now being made.
func (s *Service) scopes(sel store.CacheSelection, gone []store.Deleted) (scopes []invalidate.Scope) {
	switch {
	case sel.All, len(gone) > maxTold:
		// Whoever is not meant is found in the database again, and costs no call.
		return []invalidate.Scope{s.digests.All(), s.rows.All()}
	case sel.Hash != "":
		scopes = append(scopes, invalidate.Tag(cache.DefaultTenant, hashTag(sel.Hash)))
	}
	for _, r := range gone {
		id := keyOf(r.Hash, Window{Kind(r.Type), r.Start, r.End})
		scopes = append(scopes, s.digests.Key(id), invalidate.Tag(cache.DefaultTenant, keyTag(id)))
	}
	return scopes
}

// Clean removes digests that have served their time, and returns how many there were.
func (s *Service) Clean(ctx context.Context) (n int64, err error) {
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		n, err = tx.CleanCache(ctx)
		return err
	})
	return n, err
}

// Stats are the numbers of the service since it first ran on this database, all processes
// together.
type Stats struct {
	store.CacheStats
	Counts       map[string]int64            `json:"counts"`         // of all kinds
	CountsByKind map[string]map[string]int64 `json:"counts_by_type"` // by kind, by name
	HitRate      float64                     `json:"hit_rate"`       // of the requests that were about a digest, 0 to 1
	Saved        float64                     `json:"saved_usd"`      // calls not made, at Config.CostPerCall
	Spent        float64                     `json:"spent_usd"`      // calls made
}

// Stats returns the numbers since a time; zero: all. What other processes have counted in
// the last moments may be missing.
func (s *Service) Stats(ctx context.Context, since time.Time) (Stats, error) {
	if err := s.counts.flush(ctx); err != nil {
		return Stats{}, err
	}
	var all Stats
	err := s.store.Read(ctx, func(r *store.Snapshot) (err error) {
		if all.CacheStats, err = r.CacheStats(ctx); err != nil {
			return err
		}
		counts, err := r.Counts(ctx, since)
		all.count(counts)
		return err
	})
	had := all.Counts[hits] + all.Counts[merged]
	if about := had + all.Counts[misses]; about > 0 {
		all.HitRate = float64(had) / float64(about)
	}
	all.Saved, all.Spent = float64(had)*s.cfg.CostPerCall, float64(all.Counts[calls])*s.cfg.CostPerCall
	return all, err
}

func (s *Stats) count(counts []store.Count) {
	s.Counts, s.CountsByKind = map[string]int64{}, map[string]map[string]int64{}
	for _, c := range counts {
		s.Counts[c.Name] += c.Value
		if s.CountsByKind[c.Label] == nil {
			s.CountsByKind[c.Label] = map[string]int64{}
		}
		s.CountsByKind[c.Label][c.Name] += c.Value
	}
}

// work writes counters and removes what has expired, now and then, until ctx ends.
func (s *Service) work(ctx context.Context) {
	flush, clean := time.NewTicker(s.cfg.FlushEvery), time.NewTicker(s.cfg.CleanEvery)
	defer flush.Stop()
	defer clean.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			err = s.counts.flush(ctx)
		case <-clean.C:
			_, err = s.Clean(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("digest: background work", "error", err)
		}
	}
}
