package digest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/invalidate"
)

// reader is a user as far as digests are concerned.
type reader struct {
	SourceIDs   []int64
	SourcesHash string
	Hash        string // with the options
	Options     Options
}

// The tags of what is cached. One of a user's takes along whatever is known of the user;
// one of a hash, the digests of it and who was given them.
func userTag(user int64) string  { return "user:" + strconv.FormatInt(user, 10) }
func hashTag(hash string) string { return "hash:" + hash }
func keyTag(k DigestKey) string  { return "digest:" + string(k) }

// loadReader reads a user's sources and options as of one moment.
func (s *Service) loadReader(ctx context.Context, user int64) (r reader, err error) {
	err = s.store.Read(ctx, func(db *store.Snapshot) error {
		subscribed, err := db.Subscriptions(ctx, user)
		if err != nil {
			return err
		}
		u, err := db.User(ctx, user)
		if err != nil {
			return err
		}
		wanted, err := ParseOptions(u.Options)
		if err != nil {
			return err
		}
		r, err = s.readerOf(subscribed, wanted)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return r, fmt.Errorf("%w: %w", cache.ErrNotFound, err)
	}
	return r, err
}

func (s *Service) readerOf(subscribed store.Subscriptions, wanted Options) (r reader, err error) {
	r.SourceIDs, r.SourcesHash = subscribed.SourceIDs, subscribed.Hash
	if r.Options, err = s.cfg.Options.with(wanted).normal(); err != nil {
		return r, err
	}
	v := s.cfg.Summariser.Variant()
	r.Options.Model, r.Options.Prompt = v.Model, v.Prompt
	r.Hash, err = Hash(r.SourceIDs, r.Options)
	return r, err
}

// maxTold is the most users that an invalidation names; more are everybody.
const maxTold = 500

// changed invalidates what is known of users, in the transaction that changes them.
func (s *Service) changed(ctx context.Context, tx *store.Tx, users []int64) error {
	scopes := make([]invalidate.Scope, 0, min(len(users), maxTold))
	if len(users) > maxTold {
		scopes = append(scopes, s.readers.All(), s.rows.All())
	} else {
		for _, u := range users {
			scopes = append(scopes, invalidate.Tag(cache.DefaultTenant, userTag(u)))
		}
	}
	return s.news.Append(ctx, tx, scopes...)
}

// committed waits until this process knows of what it has just invalidated. The others
// learn of it within a bound, whatever becomes of this one.
func (s *Service) committed(ctx context.Context) {
	s.news.Committed()
	if err := s.tiers.Ready(ctx); err != nil {
		s.log.Warn("digest: this process has not heard of its own change yet", "error", err)
	}
}
