package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
)

// tally is what became of requests for digests of one kind.
type tally struct {
	requests, memory, database, merged, misses, empty int64
}

// saved returns how many calls were spared, of those that were made: one for each request
// that was given a digest which it did not pay for. Where there was no news, there was
// nothing to spare.
func (t *tally) saved(calls int64) int64 {
	free := t.misses - calls
	return t.memory + t.database + t.merged - (t.empty - free)
}

// combinations is how well a period was shared, each user asking once.
type combinations struct {
	users, misses int64
}

func (c combinations) hitRatio() float64 { return 1 - float64(c.misses)/float64(max(c.users, 1)) }
func (c combinations) cut() float64      { return float64(c.users) / float64(max(c.misses, 1)) }

// generate generates a period's digests for everybody as a cron job would, lets some ask
// again, and checks what was promised of that.
func (s *scenario) generate(ctx context.Context, w digest.Window) error {
	s.bar.say(fmt.Sprintf("%s digests, %s", s.time(), w.Kind))
	want, err := s.withItems(ctx, w)
	if err != nil {
		return err
	}
	before := s.meter.count(w.Kind)
	report, err := s.generateAll(ctx, w.Kind)
	if err != nil {
		return err
	}
	s.share(w.Kind, combinations{int64(report.Users), int64(report.Origins[digest.FromCall])})
	if s.cfg.tamper != nil {
		if err := s.cfg.tamper(ctx, s.app); err != nil {
			return err
		}
	}
	calls := s.meter.count(w.Kind) - before
	s.promises.check(keptOnce, calls == want, "%d calls for %d combinations that had news", calls, want)
	if err := s.again(ctx, w.Kind); err != nil {
		return err
	}
	s.bar.add(generating)
	return s.texts(ctx, w)
}

// generateAll generates for everybody, and counts.
func (s *scenario) generateAll(ctx context.Context, kind digest.Kind) (*app.Report, error) {
	r, err := s.app.GenerateAll(ctx, kind)
	if err != nil {
		return r, err
	}
	s.promises.check(keptAll, r.Failed == 0 && r.Outcomes[digest.Stale] == 0, "%d failed, %d got an old one: %v",
		r.Failed, r.Outcomes[digest.Stale], r.Err())
	t := s.tallies[kind]
	t.requests += int64(r.Users)
	t.empty += int64(r.Outcomes[digest.Empty])
	for origin, n := range r.Origins {
		t.add(origin, int64(n))
	}
	return r, nil
}

func (t *tally) add(from digest.Origin, n int64) {
	switch from {
	case digest.FromMemory:
		t.memory += n
	case digest.FromDatabase:
		t.database += n
	case digest.FromMerge:
		t.merged += n
	case digest.FromCall:
		t.misses += n
	}
}

// share keeps how well a period was shared.
func (s *scenario) share(kind digest.Kind, c combinations) {
	if kind == digest.Daily {
		s.daily = c
		return
	}
	if s.worst.users == 0 || c.misses > s.worst.misses {
		s.worst = c
	}
}

// again lets every tenth user ask once more, one after the other.
func (s *scenario) again(ctx context.Context, kind digest.Kind) error {
	ids, err := s.users(ctx)
	if err != nil {
		return err
	}
	for i := 0; i < len(ids); i += 10 {
		if err := s.ask(ctx, ids[i], kind); err != nil {
			return err
		}
	}
	return nil
}

// ask has one user ask, and keeps how long that took.
func (s *scenario) ask(ctx context.Context, user int64, kind digest.Kind) error {
	t := s.tallies[kind]
	t.requests++
	began := time.Now()
	res, err := s.app.Digests.Generate(ctx, digest.Request{UserID: user, Kind: kind})
	s.promises.check(keptAll, err == nil && res.State != digest.Stale, "user %d: %v", user, errors.Join(err, res.Err))
	if err != nil {
		return ctx.Err()
	}
	s.timings[res.Origin] = append(s.timings[res.Origin], time.Since(began))
	t.add(res.Origin, 1)
	if res.State == digest.Empty {
		t.empty++
	}
	return nil
}

// users returns all users.
func (s *scenario) users(ctx context.Context) ([]int64, error) {
	return s.app.Store.UserIDs(ctx, 0, s.cfg.Users)
}

// hashes returns what everybody is subscribed to, by user.
func (s *scenario) hashes(ctx context.Context) (map[int64]store.Subscriptions, error) {
	ids, err := s.users(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[int64]store.Subscriptions, len(ids))
	for _, id := range ids {
		if all[id], err = s.app.Store.Subscriptions(ctx, id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// withItems returns for how many combinations something came in a period: so many texts
// are to be paid for.
func (s *scenario) withItems(ctx context.Context, w digest.Window) (n int64, err error) {
	all, err := s.hashes(ctx)
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, sub := range all {
		if seen[sub.Hash] {
			continue
		}
		seen[sub.Hash] = true
		items, err := s.app.Store.Items(ctx, sub.SourceIDs, w.Start, w.End, 1)
		if err != nil {
			return 0, err
		}
		n += int64(len(items))
	}
	return n, nil
}
