package workload

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
)

// After Delete has returned, no read may return the earlier value. Meanwhile another goroutine
// reads the same keys all the time and has loads under way that began earlier. ristretto has no
// loader, so its test is easier: Set, Del and Get by one goroutine.

const (
	sawOld     = "saw-old"
	trialsUnit = "trials"
	deletedIn  = "a read after Delete"
)

func deleteLine(who string) report.Line {
	return report.Line{Workload: "C", Setting: deletedIn, Contender: who}
}

func (e *Env) deletes(ctx context.Context) error {
	trials := by(e, 100_000, 20_000, 500)
	for _, d := range []struct {
		name   string
		log    bool
		trials int
	}{{"twofold", false, trials}, {"twofold, two tiers", true, trials / 10}} {
		if err := e.deletesOf(ctx, d.name, d.log, d.trials); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return e.ristrettoDeletes(ctx, trials)
}

// truth is a source of a few keys whose values only grow.
type truth [16]atomic.Int64

func (s *truth) load(_ context.Context, id int64) (peers.Value, error) {
	return peers.Small(s[id%16].Load()), nil
}

func (e *Env) deletesOf(ctx context.Context, name string, log bool, trials int) error {
	var source truth
	p, err := peers.NewTwofold(e.options(name, 1000, source.load), peers.Twofold{Log: log})
	if err != nil {
		return err
	}
	defer p.Close()
	stop, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for id := int64(0); stop.Err() == nil; id++ {
			_, _ = p.Cache.Get(ctx, id%16) // its result is checked below
		}
	})
	defer wg.Wait()
	defer cancel()
	old := 0
	for i := range int64(trials) {
		id := i % 16
		source[id].Store(i)
		if err := p.Cache.Delete(ctx, id); err != nil {
			return err
		}
		v, err := p.Cache.Get(ctx, id)
		if err != nil {
			return err
		}
		if v.ID < i {
			old++
		}
	}
	e.Book.Add(deleteLine(name), sawOld, float64(old))
	e.Book.Add(deleteLine(name), trialsUnit, float64(trials))
	return nil
}

func (e *Env) ristrettoDeletes(ctx context.Context, trials int) error {
	c, err := peers.NewRistretto(peers.Options{Entries: 1000})
	if err != nil {
		return err
	}
	defer c.Close()
	old := 0
	for i := range int64(trials) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.Set(i, peers.Small(i), 1)
		c.Del(i)
		if _, ok := c.Get(i); ok {
			old++
		}
	}
	e.Book.Add(deleteLine("ristretto"), sawOld, float64(old))
	e.Book.Add(deleteLine("ristretto"), trialsUnit, float64(trials))
	return nil
}

func (e *Env) deleteTable() report.Table {
	t := report.Table{
		Title: "C: reads after Delete returned that saw the old value", Head: []string{"contender", "saw the old value", "of trials"},
		Note: "Twofold: while another goroutine reads the same keys. ristretto: Set, Del and Get by one goroutine.",
	}
	for _, name := range []string{"twofold", "twofold, two tiers", "ristretto"} {
		l := deleteLine(name)
		t.Rows = append(t.Rows, []string{name, report.Number(e.Book.Median(l, sawOld)), report.Number(e.Book.Median(l, trialsUnit))})
	}
	return t
}
