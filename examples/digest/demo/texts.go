package demo

import (
	"context"
	"errors"
	"regexp"
	"slices"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// links are the links of a digest, with what they are called and where they lead.
// Brackets within them are written otherwise.
var links = regexp.MustCompile(`\[.*\]\(([^)]*)\)`)

// texts checks what everybody reads of a period: it is what stands in the cache, byte for
// byte, and tells of each item once, of the user's sources alone.
func (s *scenario) texts(ctx context.Context, w digest.Window) error {
	all, err := s.hashes(ctx)
	if err != nil {
		return err
	}
	published, err := s.published(ctx, w)
	if err != nil {
		return err
	}
	cached := map[string]store.CacheRow{}
	for user, sub := range all {
		row, known := cached[sub.Hash]
		if !known {
			if row, err = s.cached(ctx, sub, w); err != nil {
				return err
			}
			cached[sub.Hash] = row
			s.told(row.Content, sub, published)
		}
		own, err := s.app.Store.DigestOf(ctx, user, string(w.Kind), w.Start, w.End)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		s.promises.check(keptText, own.Content == row.Content, "user %d reads %d bytes, %d are cached", user, len(own.Content), len(row.Content))
	}
	return nil
}

// published returns from which sources each address came in a period.
func (s *scenario) published(ctx context.Context, w digest.Window) (map[string][]int64, error) {
	const all = 1 << 20
	items, err := s.app.Store.Items(ctx, s.sources, w.Start, w.End, all)
	by := make(map[string][]int64, len(items))
	for _, it := range items {
		by[it.URL] = append(by[it.URL], it.SourceID)
	}
	return by, err
}

// cached returns a combination's row in the cache, an empty one if there is none.
func (s *scenario) cached(ctx context.Context, sub store.Subscriptions, w digest.Window) (store.CacheRow, error) {
	row, err := s.app.Store.CacheRow(ctx, s.key(sub), string(w.Kind), w.Start, w.End)
	if errors.Is(err, store.ErrNotFound) {
		return row, nil
	}
	return row, err
}

// told checks what a combination's digest tells of.
func (s *scenario) told(content string, sub store.Subscriptions, published map[string][]int64) {
	lines := map[string]bool{}
	for _, link := range links.FindAllStringSubmatch(content, -1) {
		from := published[link[1]]
		own := slices.ContainsFunc(from, func(id int64) bool { return slices.Contains(sub.SourceIDs, id) })
		s.promises.check(keptLinks, own, "%s is no item of combination %.12s", link[1], sub.Hash)
		// A page that changes is an item each time, under other headlines.
		s.promises.check(keptTwice, !lines[link[0]], "%s is told of twice", link[1])
		lines[link[0]] = true
		if s.deleted != 0 {
			others := slices.ContainsFunc(from, func(id int64) bool { return id != s.deleted })
			s.promises.check(keptGone, others, "%s is of a source that was deleted", link[1])
		}
	}
}

// key returns what a combination is cached by. A summariser with a variant of its own is
// part of that.
func (s *scenario) key(sub store.Subscriptions) string {
	v := s.meter.Variant()
	hash, err := digest.Hash(sub.SourceIDs, digest.Options{Model: v.Model, Prompt: v.Prompt})
	if err != nil {
		return sub.Hash // such options are no summariser's
	}
	return hash
}
