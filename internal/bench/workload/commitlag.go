package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/pgxlisten"
)

// lags measures the times from the answer to COMMIT until another process has the record.
func (e *Env) lags(t *setup.T, d *database) {
	server := setup.Must(pgx.ParseConfig(d.server.DSN("")))
	listener := setup.Must(pgxlisten.New(pgxlisten.Config{Conn: server}))
	t.Cleanup(listener.Close)
	hears := sqllog.New(d.db, sqllog.Config{Dialect: sqllog.Postgres, Poll: time.Second, Wait: listener.Wait})
	polls := sqllog.New(d.db, sqllog.Config{Dialect: sqllog.Postgres, Poll: pollOfLogs})
	e.compare(&scenario{id: "I", setting: lagSetting, tables: []report.Comparison{{
		Title: "I: from the answer to COMMIT until another process has the record", Reference: listening, Unit: p50, More: []string{p99},
	}}}, []contender{
		{name: listening, sample: func(l report.Line) { e.lag(l, d, hears, true) }},
		{name: polling, sample: func(l report.Line) { e.lag(l, d, polls, false) }},
	})
}

// lag measures one of two writers: one that stays alive and numbers its own rows, or one that dies
// after COMMIT.
func (e *Env) lag(l report.Line, d *database, other *sqllog.Log, lives bool) {
	t := e.t.Part()
	var wg sync.WaitGroup
	var failed error
	defer wg.Wait()
	defer t.Close()
	own := sqllog.New(d.db, sqllog.Config{Dialect: sqllog.Postgres, Poll: time.Second})
	if lives {
		wg.Go(func() { failed = follow(t.Context(), own) })
	}
	times := make([]time.Duration, by(e, 60, 20, 2))
	for i := range times {
		took, err := d.heard(t.Context(), own, other, endOf(t.Context(), other), lives)
		if err != nil {
			setup.Check(errors.Join(err, failed))
		}
		times[i] = took
	}
	slices.Sort(times)
	e.addQuantiles(l, times)
}

// heard commits an invalidation and returns the time that it took to reach a Tail.
func (d *database) heard(ctx context.Context, own, other *sqllog.Log, at invalidate.Cursor, lives bool) (time.Duration, error) {
	type tailed struct {
		when time.Time
		err  error
	}
	over := make(chan tailed, 1)
	go func() {
		for {
			p, err := other.Tail(ctx, at)
			if err != nil || len(p.Keys)+len(p.Scopes) > 0 {
				over <- tailed{time.Now(), err}
				return
			}
		}
	}()
	time.Sleep(10*time.Millisecond + rand.N(pollOfLogs)) // until the Tail waits
	err := own.Tx(ctx, d.db, nil, func(tx *sqllog.Tx) error { tx.Invalidate(scopesOf(1, 1)...); return nil })
	committed := time.Now()
	if err != nil {
		return 0, err
	}
	if lives {
		own.Committed()
	}
	t := <-over
	return t.when.Sub(committed), t.err
}
