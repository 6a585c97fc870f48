package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/population"
	"github.com/twofold-go/twofold/examples/digest/store"
)

const (
	allWindows = 6                // of four hours in a day
	step       = 15 * time.Minute // between two looks at what is due
)

// steps is how many there are, the first and the last one included.
func steps(cfg Config) int { return cfg.windows*int(4*time.Hour/step) + 2 }

// dawn is when the demonstration begins: a day of fewer periods begins late.
func (s *scenario) dawn() time.Time {
	return s.day.Start.Add(time.Duration(allWindows-s.cfg.windows) * 4 * time.Hour)
}

// live lives through the day, and a quarter of an hour longer, when its last periods are
// closed.
func (s *scenario) live(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	var last digest.Window // that was generated
	for i := range steps(s.cfg) {
		s.clock.set(s.dawn().Add(time.Duration(i) * step))
		if err := s.collect(ctx, i); err != nil {
			return err
		}
		w := s.calendar.LastClosed(digest.FourHours, s.clock.now())
		if !w.Start.Before(s.dawn()) && w != last {
			last = w
			if err := s.closed(ctx, w); err != nil {
				return err
			}
		}
		if s.clock.now().Equal(s.turn().Add(2 * time.Hour)) {
			if err := s.change(ctx); err != nil {
				return err
			}
		}
	}
	return s.evening(ctx)
}

// collect fetches what is due.
func (s *scenario) collect(ctx context.Context, i int) error {
	s.bar.at(settling+i, s.time()+" collecting")
	if err := s.app.Collector.RunOnce(ctx, nil); err != nil {
		return err
	}
	return ctx.Err()
}

// turn is when the middle of the demonstration is over.
func (s *scenario) turn() time.Time {
	return s.dawn().Add(time.Duration(s.cfg.windows/2) * 4 * time.Hour)
}

// closed is what happens when a period of four hours is closed: everybody gets a digest.
// In the middle of the day the program is then restarted.
func (s *scenario) closed(ctx context.Context, w digest.Window) error {
	if err := s.generate(ctx, w); err != nil {
		return err
	}
	if w.End.Equal(s.turn()) {
		return s.restart(ctx, w)
	}
	return nil
}

// restart ends the program, starts it again, and has everything generated once more that
// was there already.
func (s *scenario) restart(ctx context.Context, w digest.Window) error {
	s.bar.say(s.time() + " the program restarts")
	if err := s.stop(ctx); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	before := s.meter.count(w.Kind)
	ids, err := s.users(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids[:min(len(ids), 200)] { // one by one, to see how long it takes
		if err := s.ask(ctx, id, w.Kind); err != nil {
			return err
		}
	}
	if _, err := s.generateAll(ctx, w.Kind); err != nil {
		return err
	}
	calls := s.meter.count(w.Kind) - before
	s.promises.check(keptRestart, calls == 0, "%d calls", calls)
	return nil
}

// change deletes a source of the default pack, and has somebody subscribe to another one.
func (s *scenario) change(ctx context.Context) error {
	s.bar.say(s.time() + " a source is deleted")
	source := s.packs[0].SourceIDs[len(s.packs[0].SourceIDs)-1]
	user, err := s.app.Store.UserBySlug(ctx, population.Slug(1))
	if err != nil {
		return err
	}
	before, err := s.hashes(ctx)
	if err != nil {
		return err
	}
	another := slices.IndexFunc(s.sources, func(id int64) bool {
		return id != source && !slices.Contains(before[user.ID].SourceIDs, id) // there is one: nobody has all
	})
	err = s.app.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.DeleteSource(ctx, source); err != nil {
			return err
		}
		return tx.Subscribe(ctx, user.ID, s.sources[another])
	})
	if err != nil {
		return err
	}
	s.deleted = source
	if err := s.app.Collector.SourcesChanged(ctx); err != nil {
		return err
	}
	return s.compare(ctx, before, source, user.ID)
}

// compare checks that those whose sources have changed have other hashes, and nobody
// else.
func (s *scenario) compare(ctx context.Context, before map[int64]store.Subscriptions, source, subscribed int64) error {
	after, err := s.hashes(ctx)
	if err != nil {
		return err
	}
	for id, was := range before {
		concerned := id == subscribed || slices.Contains(was.SourceIDs, source)
		is := after[id]
		s.promises.check(keptHashes, concerned == (is.Hash != was.Hash) && is.Hash == store.Hash(is.SourceIDs),
			"user %d has %.12s after %.12s, for %d sources", id, is.Hash, was.Hash, len(is.SourceIDs))
	}
	return s.drift(ctx)
}

// drift checks what is kept of everybody's subscriptions against what they are.
func (s *scenario) drift(ctx context.Context) error {
	drift, err := s.app.Store.Verify(ctx, false)
	s.promises.check(keptDrift, len(drift) == 0, "%d users have a hash that is not theirs", len(drift))
	return err
}

// evening is what happens when the day is closed: everybody gets its digest, and after an
// operator has deleted the most popular combination, that one is written again.
func (s *scenario) evening(ctx context.Context) error {
	w := s.calendar.LastClosed(digest.Daily, s.clock.now())
	if !w.Start.Equal(s.day.Start) {
		return fmt.Errorf("the day that closed began at %v, want %v", w.Start, s.day.Start)
	}
	if err := s.generate(ctx, w); err != nil {
		return err
	}
	hash, err := s.popular(ctx)
	if err != nil {
		return err
	}
	s.bar.say(s.time() + " a combination is deleted")
	before := s.meter.count(w.Kind)
	if _, err := s.app.Digests.Forget(ctx, store.CacheSelection{Hash: hash}, "demo"); err != nil {
		return err
	}
	if _, err := s.generateAll(ctx, w.Kind); err != nil {
		return err
	}
	calls := s.meter.count(w.Kind) - before
	s.promises.check(keptDelete, calls == 1, "%d calls, want 1", calls)
	if err := s.texts(ctx, w); err != nil {
		return err
	}
	if err := s.drift(ctx); err != nil {
		return err
	}
	return s.collection(ctx)
}

// popular returns the hash that most users have.
func (s *scenario) popular(ctx context.Context) (hash string, err error) {
	all, err := s.hashes(ctx)
	users := map[string]int{}
	for _, sub := range all {
		users[sub.Hash]++
		if n := users[sub.Hash]; n > users[hash] || n == users[hash] && sub.Hash < hash {
			hash = sub.Hash
		}
	}
	return hash, err
}

// time is what the clock on the wall shows.
func (s *scenario) time() string { return s.clock.now().In(s.day.Start.Location()).Format("15:04") }
