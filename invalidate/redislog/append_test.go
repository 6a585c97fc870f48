package redislog_test

import (
	"context"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/redistest"
	"github.com/twofold-go/twofold/invalidate"
)

// Connections break during appends. Some appends are made twice, none is lost, and no two records
// have the same position.
func TestKilledConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Args("--maxmemory", "0"))
	const appends, kills = 1500, 50
	writer, tailer, syncer := r.started(1), r.process(), r.process()
	acked, own := map[uint64]bool{}, map[invalidate.Position]bool{}
	kill := make(chan struct{}, kills)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := uint64(100); i < 100+appends; i++ {
			if i%(appends/kills) == 0 {
				kill <- struct{}{}
			}
			page, err := writer.trySync(both(i))
			for err != nil {
				page, err = writer.trySync(both(i))
			}
			if own[page.Key] {
				t.Errorf("position %s is issued twice", id(page.Key))
			}
			own[page.Key], acked[i] = true, true
		}
		close(kill)
	})
	wg.Go(func() {
		for range kill {
			r.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		}
	})
	wg.Go(func() { follow(t, tailer, done, tailer.log.Tail) })
	wg.Go(func() {
		follow(t, syncer, done, func(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
			return syncer.log.Sync(ctx, at, invalidate.Append{})
		})
	})
	wg.Wait()
	for name, p := range map[string]*process{"writer": writer, "tailer": tailer, "syncer": syncer} {
		redistest.Eventually(t, name, func(context.Context) error { _, err := p.trySync(invalidate.Append{}); return err })
		wantDense(t, name+"'s keys", p.keys, acked)
		wantDense(t, name+"'s scopes", p.scopes, acked)
	}
}

// follow reads with next until done.
func follow(t testing.TB, p *process, done <-chan struct{}, next func(context.Context, invalidate.Cursor) (invalidate.Page, error)) {
	for {
		page, err := next(t.Context(), p.at)
		if err == nil {
			p.take(page)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const processes, appends = 8, 100
	var wg sync.WaitGroup
	var mu sync.Mutex
	own, numbers := map[invalidate.Position]bool{}, map[uint64]bool{}
	for i := range uint64(processes) {
		p := r.process()
		wg.Go(func() {
			for j := range uint64(appends) {
				page, err := p.trySync(both(i*appends + j))
				if err != nil {
					t.Errorf("Sync = %v", err)
					return
				}
				mu.Lock()
				if own[page.Key] || page.Key == 0 {
					t.Errorf("position %s is issued twice", id(page.Key))
				}
				own[page.Key], numbers[i*appends+j] = true, true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	p := r.process()
	p.sync(invalidate.Append{})
	wantDense(t, "keys", p.keys, numbers)
	wantDense(t, "scopes", p.scopes, numbers)
	if n := len(p.keys); n != processes*appends+1 {
		t.Errorf("%d records, want %d and a bump", n, processes*appends)
	}
}
