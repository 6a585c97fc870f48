package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/policy"
)

// The states of an entry that a hit can find: fresh, a remembered absence, and stale with a refresh
// under way. All three use few keys, because each stale key has a refresh that hangs until the end.

const (
	plainHit    = "plain hit"
	negativeHit = "negative hit"
	staleHit    = "stale hit"
)

func stateLine(who string) report.Line {
	return report.Line{Workload: "A", Setting: "entry states", Contender: who}
}

func (e *Env) hitStates(ctx context.Context) error {
	n := by(e, 1000, 1000, 100)
	stream := KeyStream(n, 1<<14)
	hang, cancel := context.WithCancel(ctx)
	defer cancel() // before the peers close, because their refreshes hang
	var cs []measure.Contender
	for _, s := range []struct {
		name string
		open func(ctx context.Context, n int) (*peers.TwofoldPeer, error)
		want func(peers.Value, error) bool
	}{
		{plainHit, openPlain, func(_ peers.Value, err error) bool { return err == nil }},
		{negativeHit, openAbsent, func(_ peers.Value, err error) bool { return err != nil }},
		{staleHit, openStale, func(_ peers.Value, err error) bool { return err == nil }},
	} {
		p, err := s.open(hang, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		defer func() { cancel(); p.Close() }()
		cs = append(cs, measure.Contender{Name: s.name, Measure: func(ctx context.Context) error {
			before := p.Tiers.Stats().Total
			wrong := int64(0)
			r := measure.Run(ctx, measure.Config{For: e.ms(200, 50, 4)}, func(int) func(int) {
				return func(i int) {
					if !s.want(p.Cache.Get(ctx, stream[i&(1<<14-1)].ID)) {
						wrong++
					}
				}
			})
			if after := p.Tiers.Stats().Total; wrong > 0 || after.LocalHits-before.LocalHits != r.Ops {
				return fmt.Errorf("%d of %d reads were not a %s, %d were answered locally", wrong, r.Ops, s.name, after.LocalHits-before.LocalHits)
			}
			e.add(stateLine(s.name), r)
			return nil
		}})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

func openPlain(ctx context.Context, n int) (*peers.TwofoldPeer, error) {
	p, err := peers.NewTwofold(peers.Options{Entries: n, Load: loadSmall}, peers.Twofold{})
	if err != nil {
		return nil, err
	}
	return p, Fill(ctx, p, true, n, peers.Small)
}

func loadSmall(_ context.Context, id int64) (peers.Value, error) { return peers.Small(id), nil }

func openAbsent(ctx context.Context, n int) (*peers.TwofoldPeer, error) {
	p, err := peers.NewTwofold(peers.Options{Entries: n, Load: func(context.Context, int64) (peers.Value, error) {
		return peers.Value{}, cache.ErrNotFound
	}}, peers.Twofold{Policy: policy.Patch{NegativeTTL: new(time.Hour)}})
	if err != nil {
		return nil, err
	}
	for id := range int64(n) {
		if _, err := p.Cache.Get(ctx, id); !errors.Is(err, cache.ErrNotFound) {
			p.Close()
			return nil, fmt.Errorf("absent %d: %w", id, err)
		}
	}
	return p, nil
}

// openStale fills a cache, waits until everything is stale and starts every refresh. No refresh
// ends before ctx does.
func openStale(ctx context.Context, n int) (*peers.TwofoldPeer, error) {
	loaded := make([]bool, n) // each written by its first load, read by its refresh
	p, err := peers.NewTwofold(peers.Options{Entries: n, Load: func(loading context.Context, id int64) (peers.Value, error) {
		if loaded[id] {
			select {
			case <-ctx.Done():
			case <-loading.Done():
			}
			return peers.Value{}, context.Canceled
		}
		loaded[id] = true
		return peers.Small(id), nil
	}}, peers.Twofold{Refreshes: 2 * n, Policy: policy.Patch{
		Stale: new(time.Hour), LoadTimeout: new(time.Hour),
	}})
	if err != nil {
		return nil, err
	}
	for id := range int64(n) {
		_, err = p.Cache.GetOrLoad(ctx, id, nil, cache.TTL(policy.Resolution))
		if err != nil {
			break
		}
	}
	wait := time.NewTimer(20 * policy.Resolution)
	defer wait.Stop()
	<-wait.C
	for id := range int64(n) {
		var r cache.Result[peers.Value]
		if r, err = p.Cache.Fetch(ctx, id, nil); err == nil && !r.Stale {
			err = fmt.Errorf("key %d is not stale", id)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (e *Env) hitStateTable() report.Table {
	return report.Comparison{
		Title: "A: what a hit finds, 1,000 keys, 1 goroutine", Workload: "A", Settings: []string{"entry states"},
		Contenders: []string{plainHit, negativeHit, staleHit}, Reference: plainHit, Unit: nsOp, More: []string{allocsOp},
		Note: "A negative hit is a remembered absence. The refresh of every stale key is under way.",
	}.Table(&e.Book)
}
