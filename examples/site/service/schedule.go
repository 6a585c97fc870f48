package service

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/store"
)

// PublishPost makes a post public now, whatever it was scheduled for. One that is
// public already stays as it is.
func (s *Service) PublishPost(ctx context.Context, id int64) (p content.Post, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		if p, err = tx.AnyPost(ctx, id); err != nil || p.Status == content.Published {
			return nil, err
		}
		p.PublishedAt = s.now()
		return s.publish(ctx, tx, &p)
	})
	return p, err
}

// PublishDue makes the scheduled posts public whose time has come, each in a write
// of its own, and returns how many. One that fails does not keep back the others.
func (s *Service) PublishDue(ctx context.Context) (n int, err error) {
	due, err := s.store.DuePosts(ctx, s.now().UnixMilli())
	for _, id := range due {
		done, e := s.publishDue(ctx, id)
		if done {
			n++
		}
		err = errors.Join(err, e)
	}
	return n, err
}

func (s *Service) publishDue(ctx context.Context, id int64) (done bool, err error) {
	err = s.write(ctx, func(tx *store.Tx) ([]Event, error) {
		p, err := tx.AnyPost(ctx, id)
		if err != nil || p.Status != content.Scheduled || p.PublishedAt.After(s.now()) {
			return nil, ignoreMissing(err) // somebody has decided otherwise meanwhile
		}
		done = true
		return s.publish(ctx, tx, &p)
	})
	_, unpublished := errors.AsType[*UnpublishedError](err)
	return done && (err == nil || unpublished), err
}

// publish makes p, which is not public, so.
func (s *Service) publish(ctx context.Context, tx *store.Tx, p *content.Post) ([]Event, error) {
	old := placeOf(*p)
	p.Status, p.UpdatedAt = content.Published, s.now()
	return []Event{PostUpserted{p.ID, old, placeOf(*p)}}, tx.UpdatePost(ctx, *p)
}
