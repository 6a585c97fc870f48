package sqllogtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// slow is a poll interval longer than any test.
const slow = sqllog.MaxBound

// A Tail numbers, at its next poll, rows whose writer has died. Another Tail receives them.
func TestTailNumbers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		cfg := sqllog.Config{Poll: 5 * time.Millisecond}
		p := r.process(t, cfg)
		commit(t, r, r.open(sqllog.Config{}), org(1)) // another process, which dies
		for range 2 {
			page, err := r.open(cfg).Tail(t.Context(), p.at)
			if err != nil || len(page.Scopes) != 1 || page.Scopes[0].Fences[0].Scope != org(1) || page.End != (invalidate.Cursor{}) {
				t.Errorf("Tail = %+v, %v; want the row", page, err)
			}
		}
		if s := p.log.Stats(); s.Numbered != 0 {
			t.Errorf("Stats = %+v of a handle that numbered nothing", s)
		}
	})
}

// A commit of this process wakes its Tail, and so does the return of Wait.
func TestTailWakes(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		heard := make(chan error)
		calls := 0 // one call at a time; the race detector checks that
		p := r.process(t, sqllog.Config{Poll: slow, Bound: slow, Wait: func(ctx context.Context) error {
			calls++
			select {
			case err := <-heard:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		other := r.open(sqllog.Config{})
		for name, wake := range map[string]func(over <-chan struct{}){
			"Committed": func(<-chan struct{}) { commit(t, r, p.log, org(1)) },
			"Wait": func(over <-chan struct{}) {
				for i := range 3 { // the first wake-up comes before the row
					select {
					case heard <- nil:
					case <-over:
					}
					if i == 0 {
						commit(t, r, other, org(1))
					}
				}
			},
		} {
			over := make(chan struct{})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			go func() {
				defer close(over)
				if page, err := p.log.Tail(ctx, p.at); err != nil || len(page.Scopes) != 1 {
					t.Errorf("%s: Tail = %+v, %v; want the row that was committed", name, page, err)
				}
			}()
			wake(over)
			<-over
			cancel()
			p.sync()
		}
		if calls < 2 {
			t.Errorf("Wait was called %d times, want at least once for each Tail", calls)
		}
	})
}

// If Wait fails, a Tail polls.
func TestTailPollsWithoutWait(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		waits := 0
		p := r.process(t, sqllog.Config{}) // whose Syncs may take their time
		p.log = r.open(sqllog.Config{
			Poll: 5 * time.Millisecond, Bound: 200 * time.Millisecond,
			Wait: func(context.Context) error { waits++; return errors.New("not through this pooler") },
		})
		if page, err := p.log.Tail(t.Context(), p.at); err != nil || len(page.Scopes) > 0 {
			t.Errorf("Tail of nothing = %+v, %v", page, err)
		}
		commit(t, r, r.open(sqllog.Config{}), org(1))
		if page, err := p.log.Tail(t.Context(), p.at); err != nil || len(page.Scopes) != 1 {
			t.Errorf("Tail = %+v, %v; want the row", page, err)
		}
		if waits != 2 {
			t.Errorf("Wait was called %d times, want once for each Tail", waits)
		}
	})
}

// The numbering statement notifies, not the writers' transactions: notifying commits would wait for
// each other.
func TestNotify(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	p := r.process(t, sqllog.Config{})
	conn := listen(t, r)
	commit(t, r, p.log, org(1))
	if n := conn.heard(t); len(n) != 0 {
		t.Errorf("COMMIT notified %q", n)
	}
	p.want(org(1))
	if n := conn.heard(t); len(n) != 1 || n[0] != sqllog.Channel+" default" {
		t.Errorf("numbering notified %q, want the namespace on channel %s", n, sqllog.Channel)
	}
	p.want()
	if n := conn.heard(t); len(n) != 0 {
		t.Errorf("a Sync with nothing new notified %q", n)
	}
}
