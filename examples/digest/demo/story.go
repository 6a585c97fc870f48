package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/digest/app"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/setup"
	"github.com/twofold-go/twofold/examples/digest/store"
)

type story struct {
	Config
	clock         clock
	meter         meter
	press         press
	base          string // the address of the press
	opened        []*app.App
	first, second *app.App           // two processes
	users         map[string][]int64 // by hash of their combination
	hash          string             // of the most frequent combination
}

// tell runs each step and prints the result. It continues after a missed promise.
func (s *story) tell(ctx context.Context) error {
	missed := 0
	for _, step := range []struct {
		name, call string
		do         func(ctx context.Context) (string, error)
	}{
		{"subscribe", `setup.Import, then tiers.Invalidate(ctx, invalidate.Tag(tenant, "sources"))`, s.subscribe},
		{"collect", "httpcache.Transport, a request with no-cache: the stored answer is revalidated", s.morning},
		{"generate", "digests.Fetch(ctx, key, load): single flight, one load for each combination", func(ctx context.Context) (string, error) {
			return s.everybody(ctx, s.first, digest.FourHours, len(s.users))
		}},
		{"elsewhere", "cache.Open(cache.TiersConfig{Remote: sqltier.New(…), Log: sqllog.New(…)}) in a second process", s.elsewhere},
		{"by tag", `log.Append(ctx, tx, invalidate.Tag(tenant, "hash:…")), then digests.Fetch by all at once`, s.forget},
		{"daily", "digests.Fetch(ctx, key, load)", s.evening},
	} {
		if s.Meddle != nil {
			if err := s.Meddle(ctx, step.name, s.first); err != nil {
				return err
			}
		}
		line, err := step.do(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("demo: %w", ctx.Err())
		case errors.Is(err, ErrMissed):
			missed++
			line += "\n           MISSED: " + err.Error()
		case err != nil:
			return fmt.Errorf("demo: step %q: %w", step.name, err)
		}
		fmt.Fprintf(s.Out, "%-10s %s\n%10s %s\n", step.name, step.call, "", line)
	}
	calls := s.meter.calls.Load()
	fmt.Fprintf(s.Out, "\nThe model was called %d times, for $%.2f.\n", calls, float64(calls)*digest.DefaultCostPerCall)
	if missed > 0 {
		return fmt.Errorf("%w: %d steps", ErrMissed, missed)
	}
	return nil
}

func promise(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrMissed, fmt.Sprintf(format, args...))
}

func (s *story) subscribe(ctx context.Context) (string, error) {
	done, err := setup.Import(ctx, s.first.Store, crowd(s.base, s.Users))
	ids, err2 := s.first.Store.UserIDs(ctx, 0, s.Users)
	err = errors.Join(err, err2)
	s.first.Collector.Tell(ctx)
	s.users = map[string][]int64{}
	for _, id := range ids {
		sub, err := s.first.Store.Subscriptions(ctx, id)
		if err != nil {
			return "", err
		}
		s.users[sub.Hash] = append(s.users[sub.Hash], id)
		if n := len(s.users[sub.Hash]); n > len(s.users[s.hash]) {
			s.hash = sub.Hash
		}
	}
	ratio := 100 * (1 - float64(len(s.users))/float64(s.Users))
	return fmt.Sprintf("%d users subscribe to %d sources in %d combinations: %.1f %% of them share (the source document promises 92 %% for 1,000 users)",
			done.Users, done.Sources, len(s.users), ratio),
		errors.Join(err, promise(s.Users < 1000 || ratio >= 92, "the hit ratio is %.1f %%", ratio))
}

func (s *story) collect(ctx context.Context, hour int) error {
	until := s.press.began.Add(time.Duration(hour)*time.Hour + 10*time.Minute) // wait for the grace of the period
	for ; s.clock.now().Before(until) && ctx.Err() == nil; s.clock.set(s.clock.now().Add(30 * time.Minute)) {
		if err := s.first.Collector.RunOnce(ctx, nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *story) morning(ctx context.Context) (string, error) {
	err := s.collect(ctx, 4)
	same := s.press.same.Load()
	return fmt.Sprintf("%d requests in four hours, %d answered 304", s.press.asked.Load(), same),
		errors.Join(err, promise(same > 0, "nothing was revalidated"))
}

func (s *story) everybody(ctx context.Context, a *app.App, kind digest.Kind, want int) (string, error) {
	paid := s.meter.calls.Load()
	report, err := a.GenerateAll(ctx, kind)
	if err != nil {
		return "", err
	}
	calls, from := s.meter.calls.Load()-paid, report.Origins
	return fmt.Sprintf("%d digests (%s) for %d calls: %d merged, %d from the remote tier or the database, %d from memory",
			report.Users, kind, calls, from[digest.FromMerge], from[digest.FromDatabase], from[digest.FromMemory]),
		errors.Join(promise(calls == int64(want), "%d calls, want %d", calls, want),
			promise(report.Failed == 0 && report.Users == s.Users, "%d of %d users have no digest", report.Failed, s.Users))
}

func (s *story) elsewhere(ctx context.Context) (line string, err error) {
	if s.second, err = s.program(ctx); err != nil {
		return "", err
	}
	return s.everybody(ctx, s.second, digest.FourHours, 0)
}

func (s *story) forget(ctx context.Context) (string, error) {
	readers := s.users[s.hash]
	var calls int64
	for try := 0; try < 3 && calls != 1; try++ { // the claim on the load may expire on a slow machine
		paid, errs := s.meter.calls.Load(), make([]error, len(readers))
		if _, err := s.first.Digests.Forget(ctx, store.CacheSelection{Hash: s.hash}, "demo"); err != nil {
			return "", err
		}
		var all sync.WaitGroup
		for i, user := range readers {
			all.Go(func() {
				reader := []*app.App{s.first, s.second}[i%2]
				_, errs[i] = reader.Digests.Generate(ctx, digest.Request{UserID: user, Kind: digest.FourHours})
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return "", err
		}
		calls = s.meter.calls.Load() - paid
	}
	return fmt.Sprintf("an operator deletes a digest; its %d readers ask both processes at once: %d call", len(readers), calls),
		promise(calls == 1, "%d calls for a deleted digest", calls)
}

func (s *story) evening(ctx context.Context) (string, error) {
	if err := s.collect(ctx, 24); err != nil {
		return "", err
	}
	return s.everybody(ctx, s.first, digest.Daily, len(s.users))
}
