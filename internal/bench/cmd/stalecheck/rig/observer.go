package rig

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
)

// observer reads the whole source repeatedly. While the source does not answer, there is no sample.
type observer struct {
	wg   sync.WaitGroup
	stop context.CancelFunc

	mu     sync.Mutex // protects all below; held during a sample
	db     *sql.DB
	course *history.Course
}

// often is the pause between two samples.
const often = 5 * time.Millisecond

// observe begins to sample the source behind db.
func observe(ctx context.Context, db *sql.DB) *observer {
	o := &observer{db: db, course: history.NewCourse()}
	ctx, o.stop = context.WithCancel(ctx)
	o.wg.Go(func() {
		tick := time.NewTicker(often)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = o.sample(ctx) // the next sample comes soon
			case <-ctx.Done():
				return
			}
		}
	})
	return o
}

// sample adds a sample to the course.
func (o *observer) sample(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	start := proc.Now()
	rows, err := o.db.QueryContext(ctx, "SELECT version FROM source ORDER BY id")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var versions []int64
	for rows.Next() {
		var v int64
		if err := rows.Scan(&v); err != nil {
			return err
		}
		versions = append(versions, v)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	o.course.Sample(start, proc.Now(), versions)
	return nil
}

// look adds a sample as soon as the source answers.
func (o *observer) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := o.sample(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(often)
	}
}

// turn switches the observer to another server.
func (o *observer) turn(db *sql.DB) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.db.Close()
	o.db = db
}

func (o *observer) close() {
	o.stop()
	o.wg.Wait()
	_ = o.db.Close()
}
