package digest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/invalidate"
)

// ErrSelection is wrapped by errors about an invalid selection.
var ErrSelection = errors.New("digest: bad selection")

// Forget removes the selected digests from the cache, in all processes within the log's
// bound. It returns how many it deleted.
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
		return s.news.Append(ctx, tx, s.scopes(sel, gone)...)
	})
	if err != nil {
		return 0, err
	}
	s.news.Committed()
	if err := s.tiers.Ready(ctx); err != nil {
		s.log.Warn("digest: this process has not applied the deletion yet", "error", err)
	}
	s.log.Info("digest: cache deleted", "actor", actor, "deleted", deleted, "hash", short(sel.Hash), "before", sel.Before, "all", sel.All)
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

const maxTold = 500

// scopes returns the scopes of the deleted rows. A tag also covers digests that are being
// generated.
func (s *Service) scopes(sel store.CacheSelection, gone []store.Deleted) (scopes []invalidate.Scope) {
	switch {
	case sel.All, len(gone) > maxTold: // the remaining digests are read from the database again, which costs no call
		return []invalidate.Scope{s.digests.All()}
	case sel.Hash != "":
		scopes = append(scopes, invalidate.Tag(cache.DefaultTenant, hashTag(sel.Hash)))
	}
	for _, r := range gone {
		scopes = append(scopes, s.digests.Key(keyOf(r.Hash, Window{Kind(r.Type), r.Start, r.End})))
	}
	return scopes
}

// Clean deletes expired digests, and returns how many there were.
func (s *Service) Clean(ctx context.Context) (n int64, err error) {
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		n, err = tx.CleanCache(ctx)
		return err
	})
	return n, err
}

// Stats are the statistics of all processes since the database was created.
type Stats struct {
	store.CacheStats
	Counts  map[string]int64 `json:"counts"`
	HitRate float64          `json:"hit_rate"`  // of the requests for a digest, 0 to 1
	Saved   float64          `json:"saved_usd"` // calls avoided, at DefaultCostPerCall
	Spent   float64          `json:"spent_usd"` // calls made
}

// Stats returns the statistics.
func (s *Service) Stats(ctx context.Context) (all Stats, err error) {
	if err := s.counts.flush(ctx); err != nil {
		return all, err
	}
	err = s.store.Read(ctx, func(r *store.Snapshot) (err error) {
		if all.CacheStats, err = r.CacheStats(ctx); err != nil {
			return err
		}
		all.Counts, err = r.Counts(ctx, time.Time{})
		return err
	})
	had := all.Counts[hits] + all.Counts[merged]
	if about := had + all.Counts[misses]; about > 0 {
		all.HitRate = float64(had) / float64(about)
	}
	all.Saved, all.Spent = dollars(had), dollars(all.Counts[calls])
	return all, err
}

// dollars returns the cost of n calls in whole cents.
func dollars(n int64) float64 { return math.Round(float64(n)*DefaultCostPerCall*100) / 100 }

func (s *Service) work(ctx context.Context) {
	flush, clean := time.NewTicker(s.cfg.FlushEvery), time.NewTicker(time.Hour)
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
			s.log.Error("digest: background work failed", "error", err)
		}
	}
}
