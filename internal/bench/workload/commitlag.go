package workload

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/pgxlisten"
)

// lags measures the times from the answer to COMMIT until another process has the record.
func (e *Env) lags(t *setup.T, d *database) {
	server := setup.Must(pgx.ParseConfig(d.server.DSN("")))
	listener := setup.Must(pgxlisten.New(pgxlisten.Config{Conn: server}))
	t.Cleanup(listener.Close)
	var cs []contender
	for _, w := range []struct {
		name  string
		lives bool // the writer stays alive and numbers its own rows; otherwise it dies after COMMIT
		other sqllog.Config
	}{
		{listening, true, sqllog.Config{Dialect: sqllog.Postgres, Poll: time.Second, Wait: listener.Wait}},
		{polling, false, sqllog.Config{Dialect: sqllog.Postgres, Poll: pollOfLogs}},
	} {
		own, other := sqllog.New(d.db, sqllog.Config{Dialect: sqllog.Postgres, Poll: time.Second}), sqllog.New(d.db, w.other)
		c := contender{name: w.name, sample: func(l report.Line) {
			times := make([]time.Duration, by(e, 60, 20, 2))
			for i := range times {
				times[i] = d.heard(t.Context(), own, other, w.lives)
			}
			slices.Sort(times)
			e.addQuantiles(l, times)
		}}
		if w.lives {
			c = c.beside(t, func(ctx context.Context) error { return follow(ctx, own) })
		}
		cs = append(cs, c)
	}
	e.compare(&scenario{id: "I", setting: lagSetting, tables: []report.Comparison{{
		Title: "I: from the answer to COMMIT until another process has the record", Reference: listening, Unit: p50, More: []string{p99},
	}}}, cs)
}

// heard commits an invalidation and returns the time that it took to reach a Tail.
func (d *database) heard(ctx context.Context, own, other *sqllog.Log, lives bool) time.Duration {
	type tailed struct {
		when time.Time
		err  error
	}
	at, over := endOf(ctx, other), make(chan tailed, 1)
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
	setup.Check(own.Tx(ctx, d.db, nil, func(tx *sqllog.Tx) error { tx.Invalidate(scopesOf(1, 1)...); return nil }))
	committed := time.Now()
	if lives {
		own.Committed()
	}
	heard := <-over
	setup.Check(heard.err)
	return heard.when.Sub(committed)
}
